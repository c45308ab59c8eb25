const Status = 'For a browser, 302 and 303 mean the same after a GET. The error is the same.'
const NoClient = 'RFC 6749 5.2 names "no client authentication included" under invalid_client.'
const NeverStored = 'Answers of every OAuth endpoint must not be stored.'

/** Why an answer of ours is not the reference's, by the name of the case. */
export const reasons: Record<string, string> = {
  'authorize: redirect_uri twice':
    "We can't know which of the two is right, and never redirect to an uncertain URL (RFC 6749 4.1.2.1).",
  'authorize: no response_type': Status,
  'authorize: response_type token':
    'We have no implicit grant, so there is no fragment either: RFC 6749 4.1.2.1 puts the error in the query.',
  'authorize: unknown scope':
    'The reference ignores unknown scopes. We report a typo at once, or the app would notice only at a 403 (RFC 6749 3.3 allows both).',
  'authorize: scope twice': Status,
  'authorize: state twice': Status,
  'authorize: challenge by plain': Status,
  'authorize: challenge of 42 characters': Status,
  'authorize: method without a challenge': Status,
  'token: no client': NoClient,
  'token: GET': 'The path exists, but not for this method: 405 with Allow says so (RFC 9110 15.5.6).',
  'revoke: no client': NoClient,
  'revoke: no token': NeverStored,
  'revoke: unknown token': 'simple-oauth2 parses the body as JSON, so we send one: {}. RFC 7009 2.2 allows both.',
  "revoke: another client's token":
    'RFC 6749 5.2 has a code for "was issued to another client": invalid_grant. Both leave the token unchanged.',
  'introspect: no client': NoClient,
}
