// What is decided on a page (a notice's question, a proposal, a fact, a rule): no decision in its first half
// second, and none twice, so that the second of two clicks presses nothing that took the button's place.

import { guardAsks } from "../dialog.js";

guardAsks();
