export interface Welcome {
  port: number;
  /** Where visitors find what is published. */
  publicUrl: string;
  username: string;
  /** A password made by this start, which is shown; else where it is known from. */
  password: { generated: string } | "given" | "set before";
  logs: string;
  /** The folder where mails are kept in place of being sent. */
  mails?: string;
}

const CONTACT = '{"firstname":"Ada","email":"ada@example.com"}';

/** The text for a person who begins, once everything runs. */
export function welcomeText({ port, publicUrl, username, password, logs, mails }: Welcome): string {
  const address = `http://localhost:${port}`;
  return `
Tidings is ready.

  Address   ${address}
  Web       ${publicUrl} (pages, forms and files for visitors)
  Pages     ${address}/credentials (API credentials), ${address}/password
  User      ${username}
  Password  ${explain(password)}
  Logs      ${logs}
  Mails     ${mails === undefined ? "leave by MAIL_URL" : `${address}/mail shows them: they are kept in ${mails}, and none leaves. MAIL_URL=smtp://... npm start sends them`}

Create a contact:

  curl -u ${login(username, password)} -H 'Content-Type: application/json' -d '${CONTACT}' ${address}/api/contacts/new

Stop with Ctrl-C.`;
}

function explain(password: Welcome["password"]): string {
  if (password === "given") return "as given in ADMIN_PASSWORD";
  if (password === "set before") return "as set before; ADMIN_PASSWORD=... npm start sets another";
  return `${password.generated}   (shown only now; ADMIN_PASSWORD=... npm start sets another)`;
}

/** curl asks for a password that is not given. */
function login(username: string, password: Welcome["password"]): string {
  return typeof password === "object" ? `${username}:${password.generated}` : username;
}
