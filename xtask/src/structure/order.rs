//! Puts the members of a circle in an order in which as little as possible runs backwards, so that
//! a person sees what to cut. Best by hand-sized steps, not proved to be the best there is.

/// How often the order is gone through to move members to a better place.
const PASSES_MAX: usize = 20;

/// Members by their index, whoever names others before what is named.
pub(super) struct Order {
    members: Vec<usize>,
}

impl Order {
    /// `weights[a][b]`: how often `a` names `b`.
    pub(super) fn of(weights: &[Vec<usize>]) -> Order {
        let mut order = Order { members: first_order(weights) };
        for _ in 0..PASSES_MAX {
            if !order.improve(weights) {
                break;
            }
        }
        order
    }

    pub(super) fn rank(&self, member: usize) -> usize {
        self.members.iter().position(|other| *other == member).unwrap_or(self.members.len())
    }

    pub(super) fn into_members(self) -> Vec<usize> {
        self.members
    }

    /// Moves every member to where the least runs backwards; whether one moved.
    fn improve(&mut self, weights: &[Vec<usize>]) -> bool {
        let mut moved = false;
        for member in 0..weights.len() {
            let at = self.rank(member);
            self.members.remove(at);
            let costs = self.costs_of(member, weights);
            let best = (0..costs.len()).min_by_key(|place| costs[*place]).unwrap_or(at);
            let place = if costs[best] < costs[at] { best } else { at };
            self.members.insert(place, member);
            moved |= place != at;
        }
        moved
    }

    /// What would run backwards if `member`, which is not in the order, stood at each place.
    fn costs_of(&self, member: usize, weights: &[Vec<usize>]) -> Vec<usize> {
        // At the beginning, whatever names it runs backwards.
        let mut cost: usize = self.members.iter().map(|other| weights[*other][member]).sum();
        let mut costs = vec![cost];
        for other in &self.members {
            cost = cost + weights[member][*other] - weights[*other][member];
            costs.push(cost);
        }
        costs
    }
}

/// Sources to the front, sinks to the end, else whoever names most and is named least.
fn first_order(weights: &[Vec<usize>]) -> Vec<usize> {
    let mut rest: Vec<usize> = (0..weights.len()).collect();
    let (mut front, mut back) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let names = |member: usize| rest.iter().map(|other| weights[member][*other]).sum::<usize>();
        let named = |member: usize| rest.iter().map(|other| weights[*other][member]).sum::<usize>();
        let sink = rest.iter().position(|member| names(*member) == 0);
        let source = rest.iter().position(|member| named(*member) == 0);
        let lead = |at: &usize| names(rest[*at]).saturating_add(1) * 1000 / (named(rest[*at]) + 1);
        let best = (0..rest.len()).max_by_key(lead).unwrap_or(0);
        if let Some(at) = sink {
            back.push(rest.remove(at));
        } else {
            front.push(rest.remove(source.unwrap_or(best)));
        }
    }
    front.extend(back.into_iter().rev());
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_circle_runs_forward_only() {
        // 2 names 0, 0 names 1.
        let weights = [vec![0, 1, 0], vec![0, 0, 0], vec![3, 1, 0]];
        assert_eq!(Order::of(&weights).into_members(), [2, 0, 1]);
    }

    #[test]
    fn the_thinnest_arrow_runs_back() {
        // 0 > 1 > 2 > 0, the arrow from 1 is the thinnest.
        let weights = [vec![0, 5, 0], vec![0, 0, 1], vec![4, 0, 0]];
        assert_eq!(Order::of(&weights).into_members(), [2, 0, 1]);
    }

    #[test]
    fn a_bad_order_is_improved() {
        let weights = [vec![0, 5, 0], vec![0, 0, 5], vec![1, 0, 0]];
        let mut order = Order { members: vec![2, 1, 0] };
        while order.improve(&weights) {}
        assert_eq!(order.members, [0, 1, 2]);
    }
}
