// What `helm test` runs: a contact is made, read and deleted through the gateway, and the audit comes to know of it.
import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const { GATEWAY, API_HOST, PUBLIC_HOST, ADMIN_USERNAME, ADMIN_PASSWORD } = process.env;
const AUDIT_TRIES = 30;
const AWAY_TRIES = 30;
const ANSWER_MS = 20_000;

await expect("what is published answers", PUBLIC_HOST, "GET", "/", 200);
if (ADMIN_PASSWORD) await makeContact();
else await expect("nobody gets in without a credential", API_HOST, "GET", "/api/contacts", 401);

async function makeContact() {
  const email = `smoke-${randomUUID()}@example.com`;
  const { contact } = await expect("a contact is made", API_HOST, "POST", "/api/contacts/new", 201, {
    email,
  });
  await expect("it is read", API_HOST, "GET", `/api/contacts/${contact.id}`, 200);
  await expect("it is deleted", API_HOST, "DELETE", `/api/contacts/${contact.id}/delete`, 200);
  const path = `/api/audit?where[0][col]=objectId&where[0][expr]=eq&where[0][val]=${contact.id}`;
  for (let tries = 1; ; tries += 1) {
    const { total } = await expect("the audit is read", API_HOST, "GET", path, 200);
    if (Number(total) > 0) return console.log("ok: the audit knows of it");
    if (tries === AUDIT_TRIES) throw new Error("the audit does not come to know of it");
    await pause(1_000);
  }
}

/**
 * Sends a request, as the administrator where there is a password, and throws unless it is answered with the status. Processes that
 * were ready just now take a moment to find each other.
 */
async function expect(what, host, method, path, status, body) {
  let answer = await send(host, method, path, body);
  for (let tries = 1; answer.status === 503 && tries < AWAY_TRIES; tries += 1) {
    await pause(1_000);
    answer = await send(host, method, path, body);
  }
  if (answer.status !== status)
    throw new Error(`${what}: ${method} ${path} said ${answer.status} ${answer.text}`);
  console.log(`ok: ${what}`);
  return answer.text.startsWith("{") ? JSON.parse(answer.text) : {};
}

function send(host, method, path, body) {
  const auth = ADMIN_PASSWORD && host === API_HOST ? `${ADMIN_USERNAME}:${ADMIN_PASSWORD}` : undefined;
  const headers = { host, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const asking = request(`http://${GATEWAY}${path}`, { method, auth, headers, timeout: ANSWER_MS });
    asking.on("timeout", () => asking.destroy(new Error(`${method} ${path} is not answered`)));
    asking.on("error", reject);
    asking.on("response", async (response) => {
      const chunks = await response.toArray();
      resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString("utf8") });
    });
    asking.end(body && JSON.stringify(body));
  });
}
