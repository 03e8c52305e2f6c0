// Find a channel with the smallest number of messages, and add all users who are not
// already in the channel to that channel

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
  return { channel, messages: list(messages).length, users: list(users) };
}));
const fewest = Math.min(...known.map(one => one.messages));
const candidates = known.filter(one => one.messages === fewest);
if (!candidates.length) return { channels, added: [] };
const [{ channel, users }] = candidates;
const missing = [...new Set(known.flatMap(one => one.users))].filter(user => !users.includes(user));
await Promise.all(missing.map(user => tried(mcp__slack__add_user_to_channel({ user, channel }))));
return { channel, messages: fewest, candidates: candidates.map(one => one.channel), missing, refused };
