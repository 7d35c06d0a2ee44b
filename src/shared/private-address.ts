import ipaddr from 'ipaddr.js';

/** Azure's virtual public address. Inside Azure it leads to the platform's own agent and metadata. */
const AZURE_PLATFORM = '168.63.129.16';

/**
 * Whether an address belongs to the public internet; reserved ranges do not. This is a list of allowed
 * ranges, so that a range that is missing here is refused.
 *
 * @param address an IPv4 or IPv6 address; anything else is not public
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return parsed.kind() === 'ipv4' ? isPublic(parsed) : isPublicIPv6(ipaddr.IPv6.parse(address));
}

function isPublicIPv6(address: ipaddr.IPv6): boolean {
  const embedded = embeddedAddresses(address);
  if (embedded.length > 0) return embedded.every(isPublic);
  const isGlobalUnicast = address.match(ipaddr.IPv6.parseCIDR('2000::/3'));
  return isGlobalUnicast && isPublic(address);
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.range() === 'unicast' && address.toString() !== AZURE_PLATFORM;
}

/** Returns the IPv4 addresses that a packet to this address may really reach: tunnels and translators unwrap them. */
function embeddedAddresses(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray();
  const last = bytes.slice(12);
  const ipv4 = (octets: number[]): ipaddr.IPv4 => new ipaddr.IPv4(octets);
  switch (address.range()) {
    case 'ipv4Mapped':
    case 'rfc6145':
      return [ipv4(last)];
    case 'rfc6052':
      // 64:ff9b:1::/48 is a site's own translator. The address does not show what it reaches.
      return address.match(ipaddr.IPv6.parseCIDR('64:ff9b::/96')) ? [ipv4(last)] : [];
    case '6to4':
      return [ipv4(bytes.slice(2, 6))];
    case 'teredo':
      return [ipv4(bytes.slice(4, 8)), ipv4(last.map((byte) => byte ^ 0xff))];
    default:
      // The deprecated IPv4-compatible form, including `::` and `::1` (0.0.0.0/8 is not public either).
      return address.match(ipaddr.IPv6.parseCIDR('::/96')) ? [ipv4(last)] : [];
  }
}
