// Passkeys: adding one to an account and signing in with one. More of these pages works
// without a script.

const decode = (text) => {
  const plain = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(plain), (letter) => letter.charCodeAt(0));
};

const encode = (buffer) => {
  const text = String.fromCharCode(...new Uint8Array(buffer));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const ask = async (path, body) => {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-csrf-token": document.body.dataset.csrf ?? "" },
    body: JSON.stringify(body),
  });
  const said = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(said?.detail ?? "it did not work");
  return said;
};

const complaint = (place, error) => {
  const notice = place.querySelector("[role=alert]");
  const given_up = error.name === "NotAllowedError" || error.name === "AbortError";
  notice.textContent = given_up ? "No passkey was used." : error.message;
  notice.hidden = false;
};

const add = async (password, called) => {
  const question = await ask("/api/v1/account/passkeys/question", { password });
  const made = await navigator.credentials.create({
    publicKey: {
      challenge: decode(question.challenge),
      rp: { id: question.host, name: "Weir" },
      user: { id: decode(question.user), name: question.name, displayName: question.name },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
      excludeCredentials: question.known.map((id) => ({ type: "public-key", id: decode(id) })),
      attestation: "none",
      timeout: 120000,
    },
  });
  await ask("/api/v1/account/passkeys", {
    called,
    client_data: encode(made.response.clientDataJSON),
    attestation: encode(made.response.attestationObject),
  });
};

const signIn = async () => {
  const question = await ask("/api/v1/passkey/question", {});
  const said = await navigator.credentials.get({
    publicKey: {
      challenge: decode(question.challenge),
      rpId: question.host,
      userVerification: "required",
      timeout: 120000,
    },
  });
  await ask("/api/v1/passkey/login", {
    id: encode(said.rawId),
    client_data: encode(said.response.clientDataJSON),
    authenticator_data: encode(said.response.authenticatorData),
    signature: encode(said.response.signature),
    user: said.response.userHandle ? encode(said.response.userHandle) : "",
  });
};

// Browsers make passkeys for names, not for addresses of numbers.
const possible = "PublicKeyCredential" in window && /[a-z]/i.test(location.hostname);

for (const place of document.querySelectorAll("[data-passkey-sign-in]")) {
  place.hidden = !possible;
  place.querySelector("button").addEventListener("click", async () => {
    try {
      await signIn();
      location.assign(place.dataset.passkeySignIn);
    } catch (error) {
      complaint(place, error);
    }
  });
}

for (const form of document.querySelectorAll("form[data-passkey-add]")) {
  form.hidden = !possible;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await add(form.elements.password?.value ?? "", form.elements.called.value);
      location.assign("/account/security");
    } catch (error) {
      complaint(form, error);
    }
  });
}

for (const note of document.querySelectorAll("[data-passkey-impossible]")) {
  note.hidden = possible;
}
