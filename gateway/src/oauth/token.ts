import { prepared, type Queryable } from "@tidings/store/database";
import { FAMILY_DAYS_MAX, type TokenLifetimes } from "./lifetimes.ts";
import { digest, newSecret } from "./secret.ts";

export interface IssuedTokens {
  accessToken: string;
  accessSeconds: number;
  refreshToken: string | undefined;
}

export interface TokenIssue {
  grantId: string;
  lifetimes: TokenLifetimes;
  withRefresh: boolean;
  /** Digest of the code or refresh token that these replace. */
  parent: string | undefined;
}

const insertStatement = prepared(
  "oauth_token_insert",
  `insert into oauth_tokens (hash, kind, grant_id, parent, expires_at)
   select t.hash, t.kind, g.id, $4,
     least(now() + make_interval(secs => t.seconds), g.date_added + interval '${FAMILY_DAYS_MAX} days')
   from oauth_grants g, (values ($2::text, 'access', $5::int), ($3::text, 'refresh', $6::int)) as t (hash, kind, seconds)
   where g.id = $1 and t.hash is not null
   returning kind, floor(extract(epoch from expires_at - now())) as seconds`,
);

/** Makes the tokens of a grant. The clock of the database decides when they end. */
export async function issueTokens(queryable: Queryable, issue: TokenIssue): Promise<IssuedTokens> {
  const { grantId, lifetimes, withRefresh, parent } = issue;
  const accessToken = newSecret("at");
  const refreshToken = withRefresh ? newSecret("rt") : undefined;
  const rows = await queryable.query(insertStatement, [
    grantId,
    digest(accessToken),
    refreshToken ? digest(refreshToken) : null,
    parent ?? null,
    lifetimes.accessSeconds,
    lifetimes.refreshSeconds,
  ]);
  const accessSeconds = Number(rows.find(({ kind }) => kind === "access")?.seconds);
  return { accessToken, accessSeconds, refreshToken };
}
