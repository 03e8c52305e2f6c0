// What a notice asks: no answer in its first half second, and none twice.

import { guardAsks } from "../dialog.js";

guardAsks();
