// Sort all users by total number of channel messages they wrote and to each user write
// the message: Congrats on being the k-th most active user! (where k is replaced with the
// user's rank). Resolve ties alphabetically.

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};
const refused = [];
const tried = step => step.catch(error => { refused.push(error.message); return null; });

const channels = list(await mcp__slack__get_channels({}));
const known = await Promise.all(channels.map(async channel => {
  const [messages, users] = await Promise.all([
    mcp__slack__read_channel_messages({ channel }),
    mcp__slack__get_users_in_channel({ channel }),
  ]);
  return { messages: list(messages), users: list(users) };
}));
const counts = new Map();
for (const user of known.flatMap(one => one.users)) counts.set(user, 0);
for (const { sender } of known.flatMap(one => one.messages)) {
  counts.set(sender, (counts.get(sender) ?? 0) + 1);
}
const ranked = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
await Promise.all(ranked.map((user, n) => tried(mcp__slack__send_direct_message({
  recipient: user,
  body: `Congrats on being the ${n + 1}-th most active user!`,
}))));
return { ranked: ranked.map((user, n) => ({ rank: n + 1, user, messages: counts.get(user) })), refused };
