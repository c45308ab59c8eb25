/** Where a request comes from: its peer, or whom the trusted proxies name. IPv4 on a socket for both is written as IPv4. */
export function addressOf({ ip = '' }: { ip?: string | undefined }): string {
  return ip.replace(/^::ffff:(?=\d+\.)/i, '')
}
