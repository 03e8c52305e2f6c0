#!/bin/sh
# A server of MCP with one tool, which an editor brings along. An id is a number; `sed` takes it out of the line.
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
  *'"tools/list"'*) r='{"tools":[{"name":"look","description":"Looks.","inputSchema":{"type":"object"}}]}' ;;
  *'"tools/call"'*) r="{\"content\":[{\"type\":\"text\",\"text\":\"mode=$MODE\"}]}" ;;
  *) [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
