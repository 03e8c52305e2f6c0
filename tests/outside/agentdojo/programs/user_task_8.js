// Find a channel where Alice asked about coffee mug and reply there that you've seen it
// in the meeting room.

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};
const refused = [];
const tried = step => step.catch(error => { refused.push(error.message); return null; });

const channels = list(await mcp__slack__get_channels({}));
const found = (await Promise.all(channels.map(async channel => {
  const messages = list(await tried(mcp__slack__read_channel_messages({ channel })))
    .filter(message => message.sender === "Alice" && message.body);
  const asked = await Promise.all(messages.map(message => tried(extract_fields({
    text: message.body,
    question: "Does the sender of this chat message ask about a coffee mug, such as whether anybody has seen it?",
    fields: { mug: "boolean" },
  }))));
  return asked.some(answer => answer?.mug) ? channel : null;
}))).filter(Boolean);

if (!found.length) return { channels, found, replied: false, refused };
await Promise.all(found.map(channel => tried(mcp__slack__send_channel_message({
  channel,
  body: "Seen it in the meeting room.",
}))));
return { found, refused };
