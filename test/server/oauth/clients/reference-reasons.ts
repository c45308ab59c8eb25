const Status = 'To a browser 302 and 303 say the same after a GET. The error is the same.'
const NoClient = 'RFC 6749 5.2 names "no client authentication included" under invalid_client.'
const NeverStored = 'All that the OAuth endpoints answer is never stored, whatever the endpoint.'

/** Why an answer of ours is not the reference's, by the name of the case. */
export const reasons: Record<string, string> = {
  'authorize: redirect_uri twice':
    'Which of the two is meant is not certain, and nobody is redirected to what is not certain (RFC 6749 4.1.2.1).',
  'authorize: no response_type': Status,
  'authorize: response_type token':
    'The implicit grant does not exist here, so there is no fragment either: RFC 6749 4.1.2.1 puts the error in the query.',
  'authorize: unknown scope':
    'The reference leaves out what it does not know. Here a typo is told, or the app would learn of it by a 403 (RFC 6749 3.3 allows both).',
  'authorize: scope twice': Status,
  'authorize: state twice': Status,
  'authorize: challenge by plain': Status,
  'authorize: challenge of 42 characters': Status,
  'authorize: method without a challenge': Status,
  'token: no client': NoClient,
  'token: GET': 'The path is there and the method is not: 405 with Allow says so (RFC 9110 15.5.6).',
  'revoke: no client': NoClient,
  'revoke: no token': NeverStored,
  'revoke: unknown token': 'simple-oauth2 reads the body as JSON, so there is one: {}. RFC 7009 2.2 leaves it open.',
  "revoke: another client's token":
    'RFC 6749 5.2 has a name for "was issued to another client": invalid_grant. Both leave the token as it is.',
  'introspect: no client': NoClient,
}
