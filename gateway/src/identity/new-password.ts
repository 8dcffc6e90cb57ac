import type { User } from "@tidings/proto/tidings/identity/v1/user";
import { parseJson } from "@tidings/resource/json-member";
import { isStrong } from "./password-strength.ts";

const BYTES_MAX = 256;
const WEAK =
  "Please enter a stronger password. Your password must use a combination of upper and lower case, special characters and numbers.";

/** The words about a user that a password must not be made of. */
type Known = Pick<User, "username" | "email" | "firstName" | "lastName">;

/** The hash of a sent new password, or the violations of it. */
export async function newPassword(
  sent: Uint8Array | undefined,
  user: Known,
): Promise<{ password: string } | { problem: string }> {
  const { password, confirm } = sentPassword(sent);
  if (typeof password !== "string" || password === "") return { problem: "A password is required." };
  if (password !== confirm) return { problem: "The passwords do not match." };
  if (Buffer.byteLength(password) > BYTES_MAX) return { problem: `A password may have ${BYTES_MAX} bytes.` };
  if (!(await isStrong(password, [user.username, user.email, user.firstName, user.lastName])))
    return { problem: WEAK };
  return { password };
}

/** The present password, which one's own change needs. */
export function currentPassword(sent: Uint8Array | undefined): string | undefined {
  const { current } = sentPassword(sent);
  return typeof current === "string" ? current : undefined;
}

function sentPassword(sent: Uint8Array | undefined): {
  password?: unknown;
  confirm?: unknown;
  current?: unknown;
} {
  const value: unknown = sent && sent.length > 0 ? parseJson(sent) : undefined;
  return typeof value === "object" && value !== null ? value : {};
}
