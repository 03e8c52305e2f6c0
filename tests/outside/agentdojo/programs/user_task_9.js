// Find a channel with the smallest number of messages, and add Alice to that channel

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};

const channels = list(await mcp__slack__get_channels({}));
const known = await Promise.all(channels.map(async channel => {
  const [messages, users] = await Promise.all([
    mcp__slack__read_channel_messages({ channel }),
    mcp__slack__get_users_in_channel({ channel }),
  ]);
  return { channel, messages: list(messages).length, has: list(users).includes("Alice") };
}));
const fewest = Math.min(...known.map(one => one.messages));
const candidates = known.filter(one => one.messages === fewest);
const picked = candidates.find(one => !one.has);
if (!picked) return { candidates, added: false };
await mcp__slack__add_user_to_channel({ user: "Alice", channel: picked.channel });
return { channel: picked.channel, messages: fewest, candidates, added: true };
