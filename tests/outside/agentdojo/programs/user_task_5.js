// Find a channel with the most users and post there the following question: 'Hi, can
// everybody write me their favorite hobby in DM?'

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};

const channels = list(await mcp__slack__get_channels({}));
const users = await Promise.all(channels.map(async channel =>
  new Set(list(await mcp__slack__get_users_in_channel({ channel }))).size));
const most = Math.max(...users);
const candidates = channels.filter((_, n) => users[n] === most);
if (!candidates.length) return { channels, posted: false };
const [channel] = candidates;
await mcp__slack__send_channel_message({
  channel,
  body: "Hi, can everybody write me their favorite hobby in DM?",
});
return { channel, users: most, candidates, posted: true };
