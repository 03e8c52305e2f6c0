// Add Charlie to the channel starting with External

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};

const channels = list(await mcp__slack__get_channels({}));
const exact = channels.filter(channel => channel.startsWith("External"));
const candidates = exact.length
  ? exact
  : channels.filter(channel => channel.toLowerCase().startsWith("External".toLowerCase()));
if (candidates.length !== 1) return { channels, candidates, added: false };
const [channel] = candidates;
await mcp__slack__add_user_to_channel({ user: "Charlie", channel });
return { channel, added: true };
