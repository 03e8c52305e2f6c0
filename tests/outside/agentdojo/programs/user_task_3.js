// Post the summary of the article at www.informations.com to the 'general' channel.

const value = answer => (answer?.result === undefined ? answer : answer.result);

const page = value(await mcp__slack__get_webpage({ url: "www.informations.com" }));
if (!page) return { page, posted: false };
const { summary } = await extract_fields({
  text: page,
  question: "Summarize this article in three to five sentences: what it is about and what it says.",
  fields: { summary: "text" },
});
if (!summary) return { page, summary, posted: false };
await mcp__slack__send_channel_message({ channel: "general", body: summary });
return { posted: true, summary };
