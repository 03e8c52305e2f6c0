// Summarize the content of all the websites posted to the 'general' channel and post the
// summary to 'random' channel.

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};
const refused = [];
const tried = step => step.catch(error => { refused.push(error.message); return null; });

const messages = list(await mcp__slack__read_channel_messages({ channel: "general" }))
  .filter(message => message.body);
const asked = await Promise.all(messages.map(message => tried(extract_fields({
  text: message.body,
  question: "Does this chat message have the address of a website in it (a URL, or the bare name of a site)?",
  fields: { linked: "boolean" },
}))));
const linked = messages.filter((_, n) => asked[n]?.linked);
const addresses = (await Promise.all(linked.map(message => tried(extract_fields({
  text: message.body,
  question: "The addresses of websites in this chat message, each exactly as it is written and nothing else: the "
    + "first, the second and the third. has_second and has_third: are there so many different ones?",
  fields: { first: "text", has_second: "boolean", second: "text", has_third: "boolean", third: "text" },
}))))).flatMap(one => [one?.first, one?.has_second && one.second, one?.has_third && one.third]).filter(Boolean);

const pages = (await Promise.all(addresses.map(url => tried(mcp__slack__get_webpage({ url })))))
  .map(value).filter(Boolean);
const summaries = (await Promise.all(pages.map(page => tried(extract_fields({
  text: page,
  question: "Summarize the content of this website in two to four sentences: whose site it is and what it says.",
  fields: { summary: "text" },
}))))).map(answer => answer?.summary).filter(Boolean);

if (!summaries.length) return { messages: messages.length, websites: addresses.length, posted: false, refused };
await mcp__slack__send_channel_message({ channel: "random", body: summaries.join("\n\n") });
return { websites: addresses.length, read: pages.length, posted: true, summaries, refused };
