import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { addressRule } from '../../../jobs/outbound/public-address.ts'
import { answering, failure, listening, outbound } from './loopback.ts'

// All spellings of this machine, of private networks and of cloud metadata addresses.
const spellings = [
  ...[
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0x7f.1',
    '0177.0.0.1',
    '127.1',
    '127.0.0.1.',
    '１２７.０.０.１',
    '127。0。0。1',
  ],
  ...['0', '0.0.0.0', '[::1]', '[::]', '[::127.0.0.1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::ffff:0:7f00:1]'],
  ...['[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:4136:e378:8000:63bf:80ff:fffe]'],
  ...['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '100.100.100.200', '198.18.0.1', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255', '169.254.169.254', '0xa9fea9fe', '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]', '192.0.0.192'],
  ...[
    '168.63.129.16',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[3fff::1]',
  ],
  ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ｌocalhost'],
]
test.each(spellings)('%s is refused with the same message, and nothing connects there', async (host) => {
  const { port, connections } = await listening(createServer())

  const error = await failure(outbound({ allow: [] }).get(`http://${host}:${port}/`))

  expect(error).toMatchObject({ kind: 'address', sent: false, message: 'No public server has this address.' })
  expect(connections).toHaveLength(0)
})

test.each([
  ['8.8.8.8', true],
  ['2606:4700::1', true],
  ['64:ff9b::808:808', true],
  ['::ffff:8.8.8.8', true],
  ['10.1.2.3', true],
  ['10.2.2.3', false],
  ['fd12::1', true],
  ['fe80::1%eth0', false],
  ['nonsense', false],
])('the rule for %s says %s', async (address, accepted) => {
  expect(addressRule(['10.1.0.0/16', 'fd12::/16'])(address)).toBe(accepted)
})

test.each([
  'ftp://127.0.0.1',
  'file:///etc/passwd',
  'http://me:secret@127.0.0.1',
  'http://me@127.0.0.1',
  '//x',
  'nothing',
])('%s is not an address to call', async (url) => {
  expect(await failure(outbound().get(url))).toMatchObject({ kind: 'url', sent: false })
})

test('a name is refused when any of its addresses is private', async () => {
  const { port, connections } = await listening(createServer())

  const mixed = outbound({ allow: [], lookup: async () => ['8.8.8.8', '127.0.0.1'] })

  expect(await failure(mixed.get(`http://mixed.test:${port}/`))).toMatchObject({ kind: 'address' })
  expect(connections).toHaveLength(0)
})

test('a name that changes its address between look-up and connection is called at the checked address', async () => {
  const good = await answering((_request, response) => response.end('good'))
  const evil = await listening(createServer(), '127.0.0.2', good.port)
  const answers = [['127.0.0.1'], ['127.0.0.2']]

  const answer = await outbound({
    allow: ['127.0.0.1/32'],
    lookup: async () => answers.shift() ?? ['127.0.0.2'],
  }).get(`http://rebinding.test:${good.port}/`)

  expect(answer.text()).toBe('good')
  expect(evil.connections).toHaveLength(0)
})

test('the next address of a name is tried when the first does not answer', async () => {
  const { port } = await answering((_request, response) => response.end('second'))
  const twoAddresses = outbound({ lookup: async () => ['127.0.0.2', '127.0.0.1'] })

  expect((await twoAddresses.get(`http://two.test:${port}/`)).text()).toBe('second')
})

test('a name without an address, or unknown to DNS, gets the same message as a private one', async () => {
  const none = await failure(outbound({ lookup: async () => [] }).get('http://none.test/'))
  const unknown = await failure(
    outbound({ lookup: () => Promise.reject(new Error('ENOTFOUND')) }).get('http://x.test/'),
  )

  expect(none).toMatchObject({ kind: 'address', sent: false, message: unknown.message })
  expect(unknown).toMatchObject({ kind: 'dns', sent: false })
})

test('localhost is this machine when the operator allows it, whatever DNS says', async () => {
  const { port } = await answering((_request, response) => response.end('here'))
  const allowed = outbound({ lookup: async () => ['8.8.8.8'] })

  expect((await allowed.get(`http://pds.localhost:${port}/`)).text()).toBe('here')
})
