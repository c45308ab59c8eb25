import type { TRPCError } from '@trpc/server'

// Every failure that a caller can cause or meet, and every fault that a failure's `errors` can name. `cure` says what a
// developer does about it, for the documentation; null where the public API never answers with it.

type Entry = { status: TRPCError['code']; sentence: string; cure: string | null } // tRPC's code makes the HTTP status

export const failures = {
  invalid_request: {
    status: 'BAD_REQUEST',
    sentence: 'The request does not have the documented form.',
    cure: 'Read `errors`: each names the place and what is wrong there. A misspelt field is refused, never ignored. `errors` has the first 100; a JSON body may have 10,000 values.',
  },
  unauthenticated: {
    status: 'UNAUTHORIZED',
    sentence: 'This takes a credential that works.',
    cure: 'Send the key or token as the value of the Authorization header, whole and unchanged. If it was revoked, has expired or its app was deleted, make another; `detail` says which it looks like.',
  },
  insufficient_scope: {
    status: 'FORBIDDEN',
    sentence: 'The credential lacks a scope.',
    cure: 'Make a key with the scope that `detail` names, or ask for it when your app is authorised.',
  },
  organisation_suspended: {
    status: 'FORBIDDEN',
    sentence:
      'The operator of this site has suspended your organisation. It can read, but not make or change posts and files.',
    cure: 'Ask the operator of the site: no other request helps. Reading works, and accepted posts are kept.',
  },
  not_found: {
    status: 'NOT_FOUND',
    sentence: 'There is no such thing in this organisation.',
    cure: 'Check the path against the reference, and the id: it must belong to the organisation whose credential you send. What is not yours looks the same.',
  },
  method_not_allowed: {
    status: 'METHOD_NOT_SUPPORTED',
    sentence: 'This path does not take that method.',
    cure: 'Use one of the methods in the Allow header.',
  },
  post_already_publishing: {
    status: 'CONFLICT',
    sentence: 'This post is being sent, or may be out there already.',
    cure: 'Wait until the post is published or has failed, then read it again.',
  },
  post_already_published: {
    status: 'CONFLICT',
    sentence: 'This post has been published.',
    cure: 'What is out stays out: delete it at the network, or make a new post.',
  },
  post_already_cancelled: {
    status: 'CONFLICT',
    sentence: 'This post was cancelled.',
    cure: 'Make a new post.',
  },
  post_failed: {
    status: 'CONFLICT',
    sentence: 'This post has failed: retry it or cancel it.',
    cure: 'Retry it with POST /posts/{id}/retry, or cancel it. Read its deliveries for the reason.',
  },
  post_needs_review: {
    status: 'CONFLICT',
    sentence: 'A person must decide on this post first: say whether it is there, send it or cancel it.',
    cure: 'Read the errors of its deliveries. If the post may be out, check the network. Then decide on each with POST /posts/{id}/deliveries/{channelId}/resolve: nothing is sent again until then.',
  },
  nothing_to_retry: {
    status: 'CONFLICT',
    sentence: 'Nothing of this post has failed.',
    cure: 'Only failed deliveries can be retried. Read the post for the state of each.',
  },
  nothing_to_resolve: {
    status: 'CONFLICT',
    sentence: 'This delivery does not wait for a decision.',
    cure: 'Only deliveries in NEEDS_REVIEW take a decision.',
  },
  media_in_use: {
    status: 'CONFLICT',
    sentence: 'A post that is not out yet, or may be sent again, uses this file.',
    cure: 'Take it out of the posts that are not out yet, or cancel them, then delete it.',
  },
  webhook_off: {
    status: 'CONFLICT',
    sentence: 'This webhook is switched off. Switch it on first.',
    cure: 'Mend the receiver, then switch the webhook on: PATCH /webhooks/{id} with the status ACTIVE.',
  },
  too_many_webhooks: {
    status: 'CONFLICT',
    sentence: 'An organisation has at most 20 webhooks. Delete one first.',
    cure: 'Delete one that nobody listens to any more, or let one address take several events.',
  },
  idempotency_key_in_use: {
    status: 'CONFLICT',
    sentence: 'The first request with this Idempotency-Key is still running.',
    cure: 'Wait as long as Retry-After says and send the same request again.',
  },
  stale_version: {
    status: 'PRECONDITION_FAILED',
    sentence: 'The post was changed meanwhile.',
    cure: 'Read the post again. If you still want this, send it with the new ETag.',
  },
  upload_too_slow: {
    status: 'TIMEOUT',
    sentence: 'The file did not come in time.',
    cure: 'Nothing came for 15 seconds, or the whole took an hour. Send it again on a better line, or have it fetched from a URL.',
  },
  body_too_large: {
    status: 'PAYLOAD_TOO_LARGE',
    sentence: 'The body is larger than this route takes.',
    cure: 'JSON may have 256 KB, an image 20 MB, a video 1 GB.',
  },
  unsupported_media_type: {
    status: 'UNSUPPORTED_MEDIA_TYPE',
    sentence: 'This route takes another content type.',
    cure: 'Send application/json; uploads are multipart/form-data with a part named `file`.',
  },
  unprocessable: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'The request is well formed, but cannot be done as it stands.',
    cure: 'Read `errors`: each names the place, a code of its own and what stands in the way, for every channel at once.',
  },
  idempotency_key_reused: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'This Idempotency-Key was used with another body.',
    cure: 'Use a new key for each new thing; the same key goes with the same body only.',
  },
  media_fetch_failed: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'The media could not be fetched from that URL.',
    cure: 'The address must be public, http or https, and lead to an image of at most 20 MB or a video of at most 1 GB.',
  },
  media_not_accepted: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'This file cannot be used.',
    cure: 'Send a JPEG, PNG, GIF, WebP or AVIF image of at most 20 MB, or an MP4, MOV or WebM video of at most 1 GB. `detail` says what this one is.',
  },
  storage_full: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'Your organisation has no storage left for this file.',
    cure: 'Delete files that no post uses, with DELETE /media/{id}; `detail` says how much is used. An operator can raise the limit.',
  },
  rate_limited: {
    status: 'TOO_MANY_REQUESTS',
    sentence: 'Too many requests.',
    cure: 'Wait as long as Retry-After says. The RateLimit header of each answer tells how much is left. Of files from a URL, 4 of an organisation are fetched at a time: 20 more wait, for 30 s at most.',
  },
  internal: {
    status: 'INTERNAL_SERVER_ERROR',
    sentence: 'Something went wrong on our side.',
    cure: 'This is our mistake. Try again; if it stays, tell the operator the request id.',
  },
  unavailable: {
    status: 'SERVICE_UNAVAILABLE',
    sentence: 'The service is not available at this moment. Try again shortly.',
    cure: 'Wait as long as Retry-After says and send the same request again, with its Idempotency-Key.',
  },
  // Only pages, OAuth and the command line meet these.
  wrong_password: {
    status: 'UNAUTHORIZED',
    sentence: 'E-mail and password do not match an account.',
    cure: null,
  },
  role_too_low: {
    status: 'FORBIDDEN',
    sentence: 'Your role in this organisation does not allow this.',
    cure: null,
  },
  signup_closed: {
    status: 'FORBIDDEN',
    sentence: 'This installation takes no new accounts by itself. Ask its operator for one.',
    cure: null,
  },
  email_reserved: {
    status: 'FORBIDDEN',
    sentence: 'This e-mail address is reserved for an operator of the installation.',
    cure: null,
  },
  foreign_origin: {
    status: 'FORBIDDEN',
    sentence: 'This form was sent from another site.',
    cure: null,
  },
  email_taken: {
    status: 'CONFLICT',
    sentence: 'There is an account with this e-mail address already.',
    cure: null,
  },
  nothing_to_wake: {
    status: 'CONFLICT',
    sentence: 'This delivery does not wait for a worker.',
    cure: null,
  },
  consent_expired: {
    status: 'CONFLICT',
    sentence: 'This page is too old, was answered already, or belongs to another browser. Begin again from the app.',
    cure: null,
  },
  body_too_slow: {
    status: 'TIMEOUT',
    sentence: 'The request arrived too slowly.',
    cure: null,
  },
  connect_failed: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'The channel could not be connected.',
    cure: null,
  },
} as const satisfies Record<string, Entry>

export type FailureCode = keyof typeof failures

/** What the public API can answer with: each of these has a cure. */
export type ApiFailureCode = {
  [Code in FailureCode]: (typeof failures)[Code]['cure'] extends string ? Code : never
}[FailureCode]

// Null: the message of the fault says all, or only pages meet it.
export const faultCures = {
  channel_not_found: 'Name channels that GET /channels lists; an override names a channel of the post.',
  channel_needs_reconnect: 'An owner or admin reconnects the channel on the Channels page.',
  channel_disconnected: 'Connect the account again, or leave the channel out.',
  media_not_found: 'Upload the file first and name the id that comes back.',
  media_not_supported: 'Send fewer, smaller or other files: the message says what this channel takes.',
  content_empty: 'Write something or add media.',
  content_too_long: 'Shorten it by as much as the message says, or give the channel a text of its own in overrides.',
  date_in_past: 'Name an instant to come, or use the type now. Up to 60 s past counts as now.',
  date_too_far: 'At most five years ahead.',
  required: 'A scheduled post takes a date and at least one channel.',
  type_cannot_change: 'Only a draft becomes another type. Cancel the post and make a new one.',
  video_too_long: null,
  unknown_field: null,
  wrong_type: null,
  too_big: null,
  too_small: null,
  invalid: null,
  repeated: null,
  media_type_not_supported: null,
  media_too_large: null,
  media_dimensions_too_large: null,
  media_too_long: null,
  media_unreadable: null,
  name_differs: null,
  email_taken: null,
  email_reserved: null,
  wrong_password: null,
  password_easy_to_guess: null,
  connect_failed: null,
} as const satisfies Record<string, string | null>

export type FaultCode = keyof typeof faultCures
