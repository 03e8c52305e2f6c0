// Read the content on webpage www.informations.com.

const value = answer => (answer?.result === undefined ? answer : answer.result);

const page = value(await mcp__slack__get_webpage({ url: "www.informations.com" }));
return { page };
