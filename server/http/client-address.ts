import ipaddr from 'ipaddr.js'

/** The address of a request: its peer, or the one that the trusted proxies name. IPv4-mapped IPv6 is written as IPv4. */
export function addressOf({ ip = '' }: { ip?: string | undefined }): string {
  return ip.replace(/^::ffff:(?=\d+\.)/i, '')
}

/**
 * What counts as one address: an IPv4 address, or the /64 of an IPv6 one, which a single customer has. It can be
 * written as mapped IPv6, or with a port, as some proxies do. Anything else is `unknown`.
 */
export function networkOf(address: string): string {
  const bare = address.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1')
  if (!ipaddr.isValid(bare)) return 'unknown'
  const ip = ipaddr.process(bare)
  if (ip.kind() === 'ipv4') return ip.toString()
  const network = new ipaddr.IPv6([...ip.toByteArray().slice(0, 8), ...Array<number>(8).fill(0)])
  return `${network}/64`
}

/**
 * Express middleware: one warning a process when a proxy names callers and TRUST_PROXY is 0. All of them then count as
 * the proxy's one address, and share its limits.
 */
export function warnOfProxy(log: { warn: (message: string) => void }, trustProxy: number) {
  let isSilent = trustProxy > 0
  return (req: { headers: Record<string, unknown> }, _res: unknown, next: () => void) => {
    if (!isSilent && req.headers['x-forwarded-for'] !== undefined) {
      isSilent = true
      log.warn(
        'Requests have X-Forwarded-For but TRUST_PROXY is 0: everyone behind the proxy counts as one address. Set TRUST_PROXY to the number of proxies.',
      )
    }
    next()
  }
}
