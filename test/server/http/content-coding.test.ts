import { expect, test } from 'vitest'
import { codingFor } from '../../../server/http/content-coding.ts'

test.each([
  [undefined, null],
  ['', null],
  ['gzip, deflate, br, zstd', 'br'], // as browsers send it
  ['gzip, deflate', 'gzip'],
  ['br;q=0.5, gzip', 'gzip'],
  ['br;q=0.5, gzip;q=0.500', 'br'],
  ['BR ; Q=0.8, GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['*', 'br'],
  ['*;q=0.1', 'br'],
  ['br;q=0, *', 'gzip'],
  ['br;q=0, gzip;q=0, *', null],
  ['*;q=0', null],
  ['identity', null],
  ['identity, gzip;q=0.9', null],
  ['identity;q=0.5, gzip;q=0.9', 'gzip'],
  ['identity;q=0', null], // nothing that we have is acceptable: we may answer plain (RFC 9110 §12.4.1)
  ['identity;q=0, gzip;q=0.001', 'gzip'],
  ['identity;q=0, *', 'br'],
  ['zstd', null],
  ['gzip;q=0', null],
  ['gzip;q=2', null],
  ['gzip;q=much', null],
  ['gzip;level=9', null],
  [',,; ;q=1,gzip', 'gzip'],
  [`gzip${' '.repeat(400)}`, null],
])('Accept-Encoding %j, answered with %j', (header, coding) => {
  expect(codingFor({ headers: header === undefined ? {} : { 'accept-encoding': header } })).toBe(coding)
})
