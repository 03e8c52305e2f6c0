#!/bin/sh
# A server of MCP whose one tool asks the person by a form and by a page first, and says what came back.
said() { printf '%s' "$reply" | sed -n "s/.*\"$1\":\"*\([a-z0-9]*\).*/\1/p"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"}}' ;;
  *'"tools/list"'*) r='{"tools":[{"name":"order","description":"Orders.","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*)
    printf '{"jsonrpc":"2.0","id":"e1","method":"elicitation/create","params":{"message":"Which size?","requestedSchema":{"type":"object","properties":{"size":{"type":"integer","minimum":1,"default":3}},"required":["size"]}}}\n'
    read -r reply
    size=$(said size)
    printf '{"jsonrpc":"2.0","id":"e2","method":"elicitation/create","params":{"mode":"url","message":"Sign in.","url":"https://a.example/x","elicitationId":"e2"}}\n'
    read -r reply
    r="{\"content\":[{\"type\":\"text\",\"text\":\"size $size, $(said action)\"}]}"
    ;;
  *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
