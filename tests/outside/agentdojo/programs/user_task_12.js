// Write the following message to the channel starting with External: Hi, i am a bot

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
if (candidates.length !== 1) return { channels, candidates, sent: false };
const [channel] = candidates;
await mcp__slack__send_channel_message({ channel, body: "Hi, i am a bot" });
return { channel, sent: true };
