"""Keys of the face, and words by which the tests know where it is. In one place, since words change."""

# The box is there and takes keys.
READY = r"(?m)^ ?(plan|ask|auto-edit|full)( ·|$)"
READY_WIDE = r"(?m)^ ?(plan|ask|auto-edit|full) · script/model · agent"
# The session is not open yet: the box takes keys before it is.
OPENING = r"Opening the session"
# The mode that a first start has, to the last word of what is said of it at any width.
FIRST_HINT = r"(?s)Permission mode.*empty box"
# A run is on.
BUSY = r"Esc (stops|ends) it"

# A run is over: what it left stands in the scrollback.
DONE = r"─ (Done|Stopped|You stopped it|Failed)"

INTERRUPT = "Escape"
NEXT_MODE = "Tab"
# The next mode asks less: it holds when Enter says so, half a second later.
WIDENS = r"Enter: mode auto-edit"
THINKING = "C-t"
NEW_LINE = "C-j"
WIPE = "C-u"
LEAVE = "/quit"

# The dialog of an approval: what it shows, and the key of each answer. It takes keys once the person
# has paused, and says so by its choices.
ASKED = r"Allow this\?"
ONCE, SESSION, ALWAYS, DENY = "y", "s", "a", "n"
WHY_NOT = "Why not"
SHOW_ALL = "v"
# So many seconds without a key: only then a yes is meant.
QUIET = 0.5
CHOICES = r"(?s)Allow this\?.*y yes"
QUESTION = r"Enter answers"
# The whole conversation, and what can be done.
TRANSCRIPT, HELP = "C-o", "?"
# Going back: the key that takes back files and conversation, as its line shows it.
BACK_BOTH = r"(?m)\bb\b .*both"
# A command of one's own has ended.
KEEP = r"keep it to yourself"
