/** How long what is issued lives. A refresh token is renewed with each use, but no family outlives its cap. */
export interface TokenLifetimes {
  accessSeconds: number;
  refreshSeconds: number;
}

export const CODE_SECONDS = 45;
export const FAMILY_DAYS_MAX = 90;
