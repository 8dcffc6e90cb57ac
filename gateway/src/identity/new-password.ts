import type { User } from "@tidings/proto/tidings/identity/v1/user";
import { isStrong } from "./password-strength.ts";

const BYTES_MAX = 256;
const WEAK =
  "Please enter a stronger password. Your password must use a combination of upper and lower case, special characters and numbers.";

/** The password of a new user, or what is wrong with it. */
export function newPassword(user: User): { password: string } | { problem: string } {
  const { password, confirm } = sentPassword(user);
  if (typeof password !== "string" || password === "") return { problem: "A password is required." };
  if (password !== confirm) return { problem: "The passwords do not match." };
  if (Buffer.byteLength(password) > BYTES_MAX) return { problem: `A password may have ${BYTES_MAX} bytes.` };
  if (!isStrong(password, [user.username, user.email, user.firstName, user.lastName]))
    return { problem: WEAK };
  return { password };
}

function sentPassword({ plainPassword }: User): { password?: unknown; confirm?: unknown } {
  return (plainPassword && JSON.parse(Buffer.from(plainPassword).toString())) ?? {};
}
