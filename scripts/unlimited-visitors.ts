/** Variables of the gateway for runs in which one machine plays all visitors: none of them is refused by a rate. */
export const UNLIMITED_VISITORS = {
  PUBLIC_RATE_LIMIT: "0",
  TRACKING_RATE: "0",
  FORM_RATE: "0",
  FORM_RATE_OF_ALL: "0",
  DOWNLOAD_RATE: "0",
  PREVIEW_RATE: "0",
};
