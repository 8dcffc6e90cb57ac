import { COMPANY_COLUMNS } from "../company/row.ts";
import { CONTACT_COLUMNS } from "../contact/row.ts";

const LENGTH_MAX = 25;

/** Names that mean something else in a body, a filter or a row. */
const RESERVED = new Set([
  ...[...CONTACT_COLUMNS, ...COMPANY_COLUMNS].map(({ name }) => name),
  ...`contact_id company_id fields all tags tag owner stage companies color category ip ip_addresses utm_tags utmtags
    overwritewithblank ipaddress donotcontact frequencyrules lastactive dateadded datemodified dateidentified
    createdby createdbyuser modifiedby modifiedbyuser ispublished ownerid values force
    field_revision campaign device_type device_brand device_os device_model dnc_bounced dnc_unsubscribed
    dnc_manual_email dnc_bounced_sms dnc_unsubscribed_sms dnc_manual_sms globalcategory leadlist utm_campaign
    utm_content utm_medium utm_source utm_term lead_asset_download lead_email_received lead_email_sent
    lead_email_sent_date lead_email_read_count lead_email_read_date email_id email_clicked_link_date hit_url
    hit_url_count hit_url_date page_id redirect_id referer sessions source source_id url_title sms_clicked_link
    sms_clicked_link_date notification is ids name segment common company_id email_sent email_read email_queued
    email_pending sms_sent web_sent mobile_sent page_source page_source_id import_id import_action mine`.split(
    /\s+/,
  ),
]);

/** A reserved word may not be asked for; what is made of a label avoids it. */
export function isReservedAlias(text: string): boolean {
  return RESERVED.has(cleanAlias(text));
}

/** The alias made of a label or of what was asked for, unlike all that are taken: `shoe_size`, `shoe_size1`. */
export function freeAlias(text: string, isTaken: (alias: string) => boolean, firstSuffix = 1): string {
  const base = cleanAlias(text);
  const isUsable = (alias: string) => !RESERVED.has(alias) && !isTaken(alias);
  if (isUsable(base)) return base;
  for (let suffix = firstSuffix; ; suffix += 1) {
    const alias = `${base.slice(0, LENGTH_MAX - String(suffix).length)}${suffix}`;
    if (isUsable(alias)) return alias;
  }
}

/** Latin letters, digits and underscores, at most 25. */
function cleanAlias(text: string): string {
  const alias = text
    .normalize("NFKD")
    .toLowerCase()
    .trim()
    .replaceAll(/\s+/g, "_")
    .replaceAll(/[^a-z0-9_]/g, "")
    .slice(0, LENGTH_MAX)
    .replace(/_$/, "");
  return /^[a-z]/.test(alias) ? alias : `f_${alias}`.slice(0, LENGTH_MAX).replace(/_$/, "_field");
}
