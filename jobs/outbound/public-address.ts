import ipaddr from 'ipaddr.js'

type Ip = ipaddr.IPv4 | ipaddr.IPv6

// It answers only to machines in its cloud, but no registry marks its address as special: Azure's platform service.
const Refused = [ipaddr.parseCIDR('168.63.129.16/32')]
// What the IANA has assigned for use across the internet (iana.org/assignments/ipv6-address-space).
const GlobalIpv6 = ipaddr.parseCIDR('2000::/3')
// RFC 6052 §2.1: the last four bytes are the IPv4 address that is really called.
const Nat64 = ipaddr.parseCIDR('64:ff9b::/96')

/**
 * A test of IP addresses: true for those that are public, or in one of the networks of `allow` (CIDR form).
 *
 * If an address only wraps an IPv4 address (mapped, NAT64), we check that one. 6to4 and Teredo are never public.
 * Anything that is not an address is refused. Throws if an entry of `allow` is not a network.
 */
export function addressRule(allow: string[]): (address: string) => boolean {
  const allowed = allow.map((network) => ipaddr.parseCIDR(network))
  return (address) => {
    if (!ipaddr.isValid(address)) return false
    const ip = unwrapped(ipaddr.process(address))
    return isIn(ip, allowed) || isPublic(ip)
  }
}

/** Whether a name means this machine by definition (RFC 6761 §6.3), whatever DNS says. */
export function isLocalhost(name: string): boolean {
  return /(^|\.)localhost\.?$/i.test(name)
}

function unwrapped(ip: Ip): Ip {
  return isIn(ip, [Nat64]) ? new ipaddr.IPv4(ip.toByteArray().slice(12)) : ip
}

function isPublic(ip: Ip): boolean {
  if (ip.range() !== 'unicast' || isIn(ip, Refused)) return false
  return ip.kind() === 'ipv4' || isIn(ip, [GlobalIpv6])
}

function isIn(ip: Ip, networks: [Ip, number][]): boolean {
  return networks.some(([network, bits]) => network.kind() === ip.kind() && ip.match(network, bits))
}
