/** Series in promtool's notation, by name and labels, with one value a minute. */
type Series = Record<string, string>

/** Series that make an alert fire, the minute when it fires, and series that do not. */
export type AlertCase = { fires: Series; atMinutes: number; silent: Series }

const histogram = (name: string, labels: string, slow: string) => ({
  [`${name}_bucket{${labels},le="0.5",instance="a"}`]: slow === 'slow' ? '0x60' : '0+10x60',
  [`${name}_bucket{${labels},le="60",instance="a"}`]: '0+10x60',
  [`${name}_bucket{${labels},le="+Inf",instance="a"}`]: '0+10x60',
})
const attempts = (published: string, outcome: string, other: string) => ({
  'punctual_attempts_total{network="mastodon",outcome="published",instance="a"}': published,
  [`punctual_attempts_total{network="mastodon",outcome="${outcome}",instance="a"}`]: other,
})
const gauge = (series: string, fires: string, silent: string, atMinutes: number): AlertCase => ({
  ...{ fires: { [series]: fires }, silent: { [series]: silent }, atMinutes },
})
const requests = (good: string, bad: string) => ({
  'punctual_http_request_duration_seconds_count{method="GET",route="/login",status="2xx",instance="a"}': good,
  'punctual_http_request_duration_seconds_count{method="GET",route="/login",status="5xx",instance="a"}': bad,
})
const calls = (delivered: string, unreachable: string) => ({
  'punctual_webhook_calls_total{outcome="delivered",instance="a"}': delivered,
  'punctual_webhook_calls_total{outcome="unreachable",instance="a"}': unreachable,
})

const mailTries = (sent: string, refused: string) => ({
  'punctual_mail_tries_total{outcome="sent",instance="a"}': sent,
  'punctual_mail_tries_total{outcome="refused",instance="a"}': refused,
})

const noRecipients = (sent: string, refused: string) => ({
  'punctual_mail_tries_total{outcome="sent",instance="a"}': sent,
  'punctual_mail_tries_total{outcome="no_recipient",instance="a"}': refused,
})

/** A case for every alert of docs/alerts.yaml, by its name. */
export const alertCases: Record<string, AlertCase> = {
  PunctualNothingPublished: {
    fires: {
      'punctual_overdue_oldest_seconds{instance="a"}': '90+60x10',
      'punctual_claims_stopped{instance="a",reason="paused"}': '0x10',
    },
    silent: {
      'punctual_overdue_oldest_seconds{instance="a"}': '90+60x10',
      'punctual_claims_stopped{instance="a",reason="paused"}': '1x10',
    },
    atMinutes: 3,
  },
  PunctualLate: {
    fires: histogram('punctual_lateness_seconds', 'network="feed"', 'slow'),
    silent: histogram('punctual_lateness_seconds', 'network="feed"', 'fast'),
    atMinutes: 25,
  },
  PunctualNoWorker: gauge('punctual_workers_alive{instance="a"}', '0x10', '1x10', 3),
  PunctualWorkerSilent: gauge('punctual_worker_heartbeat_oldest_seconds{instance="a"}', '45x10', '3x10', 4),
  PunctualNetworkPaused: gauge('punctual_networks_paused{instance="a"}', '1x80', '0x20 1x50 0x10', 65),
  PunctualInternalErrors: {
    fires: attempts('0+1x30', 'internal', '0x5 1x25'),
    silent: attempts('0+1x30', 'internal', '0x30'),
    atMinutes: 9,
  },
  PunctualSendsFail: {
    fires: attempts('0+1x60', 'later', '0+5x60'),
    silent: attempts('0+5x60', 'later', '0+1x60'),
    atMinutes: 40,
  },
  PunctualUnseen: { fires: {}, silent: { 'punctual_ledger_readable{instance="a"}': '1x10' }, atMinutes: 6 },
  PunctualNoWeb: gauge('up{job="punctual-web",instance="a"}', '0x10', '1x10', 3),
  PunctualProcessDown: gauge('up{job="punctual-worker",instance="a"}', '0x10', '0x3 1x7', 6),
  PunctualDatabaseUnreachable: gauge('punctual_ledger_readable{instance="a"}', '0x10', '1x10', 3),
  PunctualDatabasePoolExhausted: {
    fires: {
      'punctual_database_pool_under_way{instance="a"}': '15x20',
      'punctual_database_pool_size{instance="a"}': '10x20',
    },
    silent: {
      'punctual_database_pool_under_way{instance="a"}': '9x20',
      'punctual_database_pool_size{instance="a"}': '10x20',
    },
    atMinutes: 11,
  },
  PunctualClaimsStopped: gauge('punctual_claims_stopped{instance="a",reason="restored"}', '1x20', '0x20', 11),
  PunctualUncertainGrowing: gauge('punctual_deliveries{state="uncertain",instance="a"}', '0+1x60', '20x60', 45),
  PunctualNeedsReview: gauge('punctual_deliveries{state="needs_review",instance="a"}', '2x20 5x60', '5x80', 45),
  PunctualWebErrors: { fires: requests('0+10x30', '0+3x30'), silent: requests('0+300x30', '0+1x30'), atMinutes: 15 },
  PunctualWebSlow: {
    fires: histogram('punctual_http_request_duration_seconds', 'method="GET",route="/posts",status="2xx"', 'slow'),
    silent: histogram(
      'punctual_http_request_duration_seconds',
      'method="GET",route="/files/:key",status="2xx"',
      'slow',
    ),
    atMinutes: 25,
  },
  PunctualMailsLate: gauge('punctual_mail_oldest_seconds{instance="a"}', '1700+60x20', '900x20', 10),
  PunctualMailsGivenUp: gauge('punctual_mails_given_up{instance="a"}', '0x10 2x20', '2x40', 15),
  PunctualMailsRefused: {
    fires: mailTries('0+1x60', '0+3x60'),
    silent: mailTries('0+3x60', '0+1x60'),
    atMinutes: 50,
  },
  PunctualMailsNoneSent: {
    fires: noRecipients('0x60', '0+1x60'),
    silent: noRecipients('0+1x60', '0+1x60'),
    atMinutes: 50,
  },
  PunctualWebhooksFail: { fires: calls('0+1x60', '0+3x60'), silent: calls('0+3x60', '0+1x60'), atMinutes: 50 },
}
