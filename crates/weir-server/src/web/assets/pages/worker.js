// Shows notices while no page is open. It loads nothing and keeps nothing.

self.addEventListener("push", (event) => {
  let notice = {};
  try {
    notice = event.data?.json() ?? {};
  } catch {
    // What is not ours is not shown as if it were.
    return;
  }
  const link = typeof notice.link === "string" && notice.link.startsWith("/") ? notice.link : "/";
  event.waitUntil(
    self.registration.showNotification(String(notice.title ?? "Weir"), {
      body: String(notice.text ?? ""),
      data: link,
      tag: link,
    }),
  );
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const link = new URL(event.notification.data ?? "/", self.location.origin);
  if (link.origin !== self.location.origin) return;
  event.waitUntil(
    (async () => {
      const open = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
      const there = open.find((client) => new URL(client.url).pathname === link.pathname);
      if (there) await there.focus();
      else await self.clients.openWindow(link.href);
    })(),
  );
});
