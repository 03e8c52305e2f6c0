//! How far a person's caps on money are used up. Not here: sums of what was used (the store).

use super::UserSpace;
use crate::failure::{InstallationError, refused};
use crate::spending::{CapState, cap_states};

impl UserSpace {
    /// The caps under which their sessions are, with what was spent of each.
    ///
    /// # Errors
    /// The settings or a store cannot be read.
    pub async fn cap_states(&self) -> Result<Vec<CapState>, InstallationError> {
        self.look_up_made().await?;
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let states = cap_states(&cx, self.store().as_ref(), self.now()).await;
        states.map_err(|error| refused(&error))
    }
}
