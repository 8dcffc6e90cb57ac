/** The settings of a run, from its environment (`k6 run -e NAME=value`), with their defaults. */
export const settings = {
  baseUrl: text("BASE_URL", "http://localhost:8080").replace(/\/$/, ""),
  /** The public web; beside the API when absent. */
  publicUrl: text("PUBLIC_URL", text("BASE_URL", "http://localhost:8080")).replace(/\/$/, ""),
  /** The name of an administrator, who makes the API credential of the run. */
  username: text("ADMIN_USERNAME", "admin"),
  password: text("ADMIN_PASSWORD", ""),
  /** Where this script asks the receiver of webhooks what it got, and where the product finds it. */
  receiverUrl: text("RECEIVER_URL", "http://localhost:8090").replace(/\/$/, ""),
  webhookUrl: text("WEBHOOK_URL", text("RECEIVER_URL", "http://localhost:8090")).replace(/\/$/, ""),
  profile: text("PROFILE", "smoke"),
  /** Names, separated by commas; all when empty. */
  journeys: text("JOURNEY", "").split(",").filter(Boolean),
  /** How many times the load that a profile means. */
  rate: Number(text("RATE", "1")),
  /** The seconds of the whole run; those of the profile when 0. */
  seconds: Number(text("SECONDS", "0")),
  /** How many contacts there are besides, while it lasts. */
  contacts: Number(text("CONTACTS", "0")),
  /** Path of the result without its extension; shown only, when empty. */
  result: text("RESULT", ""),
};

function text(name: string, otherwise: string): string {
  return __ENV[name] || otherwise;
}
