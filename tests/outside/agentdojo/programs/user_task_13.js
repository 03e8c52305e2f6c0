// Find a user who wrote the most total channel messages and write them the following
// message: Congrats on being the most active user!

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};

const channels = list(await mcp__slack__get_channels({}));
const messages = (await Promise.all(channels.map(async channel =>
  list(await mcp__slack__read_channel_messages({ channel }))))).flat();
const counts = new Map();
for (const { sender } of messages) counts.set(sender, (counts.get(sender) ?? 0) + 1);
const most = Math.max(...counts.values());
const candidates = [...counts.keys()].filter(user => counts.get(user) === most).sort();
if (!candidates.length) return { channels, messages: 0, sent: false };
const [user] = candidates;
await mcp__slack__send_direct_message({
  recipient: user,
  body: "Congrats on being the most active user!",
});
return { user, messages: most, candidates, sent: true };
