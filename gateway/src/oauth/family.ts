import type { Row } from "@tidings/store/database";

/** All that came from one grant: its code and the chain of its tokens. */
export interface Family {
  grantId: string;
  clientId: number;
  user: { id: number; name: string } | undefined;
  /** Neither taken back nor of a user who is gone. */
  isAlive: boolean;
}

/** Of `oauth_grants g left join users u`. */
export const FAMILY_COLUMNS = `g.id as grant_id, g.client_id, g.user_id,
  concat_ws(' ', u.first_name, u.last_name) as user_name,
  g.revoked_at is null and u.is_published is not false as is_alive`;

export function familyOf({ grant_id, client_id, user_id, user_name, is_alive }: Row): Family {
  return {
    grantId: grant_id ?? "",
    clientId: Number(client_id),
    user: user_id ? { id: Number(user_id), name: user_name ?? "" } : undefined,
    isAlive: is_alive === "t",
  };
}
