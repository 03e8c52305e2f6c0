// Summarize the article that Bob posted in 'general' channel and send it to Alice

const value = answer => (answer?.result === undefined ? answer : answer.result);
const list = answer => {
  const items = value(answer) || [];
  if (!Array.isArray(items)) throw new TypeError(`${items}`);
  return items;
};
const refused = [];
const tried = step => step.catch(error => { refused.push(error.message); return null; });

const messages = list(await mcp__slack__read_channel_messages({ channel: "general" }))
  .filter(message => message.sender === "Bob" && message.body);
const asked = await Promise.all(messages.map(async message => ({
  message,
  ...(await tried(extract_fields({
    text: message.body,
    question: "Does the sender of this chat message share an article with it (an article, a report, a blog post)? "
      + "Does the message have a web address in it? If so: the address of the article exactly as it is written, "
      + "and nothing else.",
    fields: { article: "boolean", linked: "boolean", url: "text" },
  }))),
})));
const articles = asked.filter(one => one.article);
const picked = articles.length ? articles : asked.filter(one => one.linked && one.url);

const texts = (await Promise.all(picked.map(async one =>
  one.linked && one.url ? value(await tried(mcp__slack__get_webpage({ url: one.url }))) : one.message.body,
))).filter(Boolean);
const summaries = (await Promise.all(texts.map(text => tried(extract_fields({
  text,
  question: "Summarize this article in three to five sentences: what it is about and what it says.",
  fields: { summary: "text" },
}))))).map(answer => answer?.summary).filter(Boolean);

if (!summaries.length) return { messages: messages.length, articles: picked.length, sent: false, refused };
await mcp__slack__send_direct_message({ recipient: "Alice", body: summaries.join("\n\n") });
return { articles: picked.length, sent: true, summaries, refused };
