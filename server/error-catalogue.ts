import type { TRPCError } from '@trpc/server'

// Every failure that a caller can cause or meet, and every fault that a failure's `errors` can name. `cure` says what a
// developer does about it, for the documentation; null where the public API never answers with it.

type CatalogueEntry = { status: TRPCError['code']; sentence: string; cure: string | null } // tRPC's code makes the HTTP status

export const failures = {
  invalid_request: {
    status: 'BAD_REQUEST',
    sentence: 'The request is invalid.',
    cure: 'Read `errors`: each entry names the field and its problem. A misspelled field is refused, never ignored. `errors` lists the first 100 problems. A JSON body can have at most 10,000 values.',
  },
  unauthenticated: {
    status: 'UNAUTHORIZED',
    sentence: 'Authentication required: send a valid API key or access token.',
    cure: 'Send the whole key or token, unchanged, as the value of the Authorization header. If it was revoked, has expired or its app was deleted, create a new one. `detail` says which it looks like.',
  },
  insufficient_scope: {
    status: 'FORBIDDEN',
    sentence: "The credential doesn't have the required scope.",
    cure: 'Create a key with the scope that `detail` names, or request that scope when your app is authorised.',
  },
  all_channels_required: {
    status: 'FORBIDDEN',
    sentence: "This access token was granted only some channels. It can't change queues.",
    cure: 'Use an API key, or a token that was granted all channels. A token of some channels can read queues and add posts to them.',
  },
  organisation_suspended: {
    status: 'FORBIDDEN',
    sentence:
      "The operator of this site has suspended your organisation. You can read, but you can't create or change posts and files.",
    cure: 'Ask the operator of the site to end the suspension. You can still read, and accepted posts are kept.',
  },
  not_found: {
    status: 'NOT_FOUND',
    sentence: 'Not found.',
    cure: "Check the path against the reference. Check the id: it must belong to the organisation whose credential you send. Other organisations' ids are not found either.",
  },
  method_not_allowed: {
    status: 'METHOD_NOT_SUPPORTED',
    sentence: "This path doesn't accept that method.",
    cure: 'Use one of the methods in the Allow header.',
  },
  post_already_publishing: {
    status: 'CONFLICT',
    sentence: 'This post is being sent, or may already be published.',
    cure: 'Wait until the post is published or has failed, then read it again.',
  },
  post_already_published: {
    status: 'CONFLICT',
    sentence: 'This post is already published.',
    cure: "We can't change a post that is published on all its channels. Delete it at the network, or create a new post.",
  },
  post_already_cancelled: {
    status: 'CONFLICT',
    sentence: 'This post was cancelled.',
    cure: 'Create a new post.',
  },
  post_needs_review: {
    status: 'CONFLICT',
    sentence: 'This post needs a decision first. Resolve its deliveries in NEEDS_REVIEW, or cancel them.',
    cure: 'Read the errors of its deliveries. If the post may be published, check the network. Then decide on each delivery with POST /posts/{id}/deliveries/{channelId}/resolve. Nothing is sent again until then.',
  },
  nothing_to_retry: {
    status: 'CONFLICT',
    sentence: 'This post has no failed deliveries.',
    cure: 'Only failed deliveries can be retried. Read the post for the status of each delivery.',
  },
  nothing_to_resolve: {
    status: 'CONFLICT',
    sentence: "This delivery isn't waiting for a decision.",
    cure: 'Only deliveries in NEEDS_REVIEW can be resolved.',
  },
  post_exists: {
    status: 'CONFLICT',
    sentence: 'This post was already created, in another tab or with a second press.',
    cure: null,
  },
  media_in_use: {
    status: 'CONFLICT',
    sentence: "A post that isn't published yet, or may be sent again, uses this file.",
    cure: 'Remove the file from these posts, or cancel them. Then delete the file.',
  },
  webhook_off: {
    status: 'CONFLICT',
    sentence: 'This webhook is switched off. Switch it on first.',
    cure: 'Fix the receiver. Then switch the webhook on: PATCH /webhooks/{id} with the status ACTIVE.',
  },
  too_many_webhooks: {
    status: 'CONFLICT',
    sentence: 'An organisation can have at most 20 webhooks. Delete one first.',
    cure: 'Delete a webhook that you no longer use, or send several events to one URL.',
  },
  too_many_queues: {
    status: 'CONFLICT',
    sentence: 'An organisation can have at most 50 queues. Delete one first.',
    cure: 'Delete a queue that you no longer use. Its posts keep their dates.',
  },
  queue_is_default: {
    status: 'CONFLICT',
    sentence: 'This is the default queue. Make another queue the default first.',
    cure: 'Send PATCH /queues/{id} with `isDefault: true` for another queue. Only your last queue can be deleted while it is the default.',
  },
  queue_changed: {
    status: 'CONFLICT',
    sentence: 'The queue has changed meanwhile. Check it and try again.',
    cure: null,
  },
  idempotency_key_in_use: {
    status: 'CONFLICT',
    sentence: 'The first request with this Idempotency-Key is still running.',
    cure: 'Wait for the time in Retry-After. Then send the same request again.',
  },
  stale_version: {
    status: 'PRECONDITION_FAILED',
    sentence: 'The post has changed since you read it.',
    cure: 'Read the post again. If you still want this, send the request with the new ETag.',
  },
  upload_too_slow: {
    status: 'TIMEOUT',
    sentence: 'The upload was too slow.',
    cure: 'No data arrived for 15 seconds, or the upload took more than an hour. Try a faster connection, or send a URL from which we can fetch the file.',
  },
  body_too_large: {
    status: 'PAYLOAD_TOO_LARGE',
    sentence: 'The request body is too large.',
    cure: 'The limits are 256 KB for JSON, 20 MB for an image and 1 GB for a video.',
  },
  unsupported_media_type: {
    status: 'UNSUPPORTED_MEDIA_TYPE',
    sentence: "This route doesn't accept this content type.",
    cure: 'Send application/json. For uploads, send multipart/form-data with a part named `file`.',
  },
  unprocessable: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: "The request is well formed, but we can't carry it out.",
    cure: 'Read `errors`: each entry has the field, a code and the problem. All channels are checked at once.',
  },
  idempotency_key_reused: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'This Idempotency-Key was already used with another body.',
    cure: 'Use a new key for each new request. Send the same key only with the same body.',
  },
  media_fetch_failed: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: "We couldn't fetch the file from that URL.",
    cure: 'The URL must be public and start with http or https. It must lead to an image of at most 20 MB or a video of at most 1 GB.',
  },
  media_not_accepted: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: "We can't use this file.",
    cure: 'Send a JPEG, PNG, GIF, WebP, AVIF or HEIC image of at most 20 MB, or an MP4, MOV or WebM video of at most 1 GB. `detail` says what is wrong with this file.',
  },
  storage_full: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: 'Your organisation has no storage left for this file.',
    cure: 'Delete files that no post uses, with DELETE /media/{id}. `detail` says how much is used. The operator can raise the limit.',
  },
  rate_limited: {
    status: 'TOO_MANY_REQUESTS',
    sentence: 'Too many requests.',
    cure: 'Wait for the time in Retry-After. The RateLimit header of each response says how much is left. For each organisation we fetch 4 files from URLs at a time. 20 more can wait, for at most 30 seconds.',
  },
  internal: {
    status: 'INTERNAL_SERVER_ERROR',
    sentence: 'Something went wrong on our side.',
    cure: 'Try again. If it keeps happening, send the operator the request id.',
  },
  unavailable: {
    status: 'SERVICE_UNAVAILABLE',
    sentence: 'The service is temporarily unavailable. Try again shortly.',
    cure: 'Wait for the time in Retry-After. Then send the same request again, with its Idempotency-Key.',
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
    sentence: 'Sign-up is closed on this installation. Ask its operator for an account.',
    cure: null,
  },
  no_mail: {
    status: 'FORBIDDEN',
    sentence: "This site can't send mail. Ask the person who runs it.",
    cure: null,
  },
  link_expired: {
    status: 'CONFLICT',
    sentence: 'This link is too old, or was already used. Ask for a new one.',
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
    sentence: "You can't use this e-mail address. If you already have an account with it, sign in.",
    cure: null,
  },
  nothing_to_wake: {
    status: 'CONFLICT',
    sentence: "This delivery isn't waiting for a worker.",
    cure: null,
  },
  consent_expired: {
    status: 'CONFLICT',
    sentence: 'This page is too old, was already answered, or belongs to another browser. Start again from the app.',
    cure: null,
  },
  body_too_slow: {
    status: 'TIMEOUT',
    sentence: 'The request arrived too slowly.',
    cure: null,
  },
  connect_failed: {
    status: 'UNPROCESSABLE_CONTENT',
    sentence: "We couldn't connect the channel.",
    cure: null,
  },
} as const satisfies Record<string, CatalogueEntry>

export type FailureCode = keyof typeof failures

/** What the public API can answer with: each of these has a cure. */
export type ApiFailureCode = {
  [Code in FailureCode]: (typeof failures)[Code]['cure'] extends string ? Code : never
}[FailureCode]

// Null: the message of the fault says all, or only pages meet it.
export const faultCures = {
  channel_not_found: 'Send ids that GET /channels lists. An override needs a channel of the post.',
  channel_needs_reconnect: 'Ask an owner or admin to reconnect the channel on the Channels page.',
  channel_already_published:
    'Keep every channel that published the post in `channelIds`. Leave it out of `overrides`, or send what is there.',
  channel_disconnected: 'Connect the account again, or leave the channel out.',
  media_not_found: 'Upload the file first. Then send the id from the response.',
  media_not_supported: 'Send fewer, smaller or other files. The message says what this channel accepts.',
  content_empty: 'Write something or add media.',
  content_too_long: 'Shorten the text: the message says by how much. Or give the channel its own text in `overrides`.',
  date_cannot_change: 'Leave `date` out: we send the rest now. To send it at another time, create a new post.',
  date_not_allowed: 'Leave out `date`, or the type `now`: a post of this type goes out at once.',
  date_in_past: 'Send a future time, or use the type `now`. A time up to 60 seconds in the past counts as now.',
  date_too_far: 'Send a time within the next five years.',
  required: 'A scheduled post requires a date and at least one channel.',
  type_cannot_change: 'Only a draft can change its type. Cancel the post and create a new one.',
  channel_not_in_queue: 'Use only channels of the queue: GET /queues/{id} lists them. Or add the channel to the queue.',
  queue_not_found: 'Send an id that GET /queues lists. Without `queueId` you need a default queue.',
  queue_paused: 'Resume the queue, or use another one. You can also send the type `schedule` with a date.',
  queue_has_no_times: 'Add weekly times to the queue.',
  queue_full: 'All times of the queue are taken for the next five years. Add weekly times, or use another queue.',
  name_taken: 'Use another name.',
  video_too_long: 'Send a shorter video. The message says how long it can be.',
  unknown_field: null,
  wrong_type: null,
  too_big: null,
  too_small: null,
  too_many_copies: null,
  too_slow: null,
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
