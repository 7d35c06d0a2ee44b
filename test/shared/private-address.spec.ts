import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isPublicAddress } from '../../src/shared/private-address.js';

const PUBLIC = ['8.8.8.8', '168.63.129.15', '168.63.129.17', '1.1.1.1', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '172.15.255.255',
  '172.32.0.0', '192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255',
  '2606:4700:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8', '::8.8.8.8', '64:ff9b::808:808',
  '2002:808:808::1']; // prettier-ignore

const PRIVATE = {
  unspecified: ['0.0.0.0', '0.1.2.3', '::'],
  loopback: ['127.0.0.1', '127.255.255.255', '::1'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'link-local': ['169.254.0.0', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  'unique-local and site-local': ['fc00::1', 'fdff::1', 'fd00:ec2::254', 'fec0::1'],
  'carrier-grade NAT': ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  benchmark: ['198.18.0.0', '198.19.255.255', '2001:2::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  'reserved and broadcast': ['192.0.0.1', '240.0.0.1', '255.255.255.255', '100::1', '4000::1', '5f00::1'],
  'the cloud platform itself': ['168.63.129.16', '::ffff:168.63.129.16', '64:ff9b::a83f:8110'],
  mapped: ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:0:127.0.0.1', '::FFFF:192.168.0.1'],
  compatible: ['::127.0.0.1', '::10.0.0.1', '::a00:1'],
  NAT64: ['64:ff9b::10.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::808:808', '64:ff9b:1::10.0.0.1'],
  '6to4': ['2002:7f00:1::1', '2002:a00:1::', '2002:c0a8:1::1'],
  Teredo: ['2001:0:7f00:1::f7f7:f7f7', '2001:0:808:808::80ff:fffe', '2001:0:808:808::f5ff:fffe'],
  'not addresses': ['', 'localhost', 'example.com', '1.2.3.4.5', '[::1]', '8.8.8.8:80'],
};

describe('the network guard', () => {
  it.each(PUBLIC)('treats %s as public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it('treats a Teredo address as public if its server and client addresses are public', () => {
    expect(isPublicAddress('2001:0:808:808::f7f7:f7f7')).toBe(true);
  });

  describe.each(Object.entries(PRIVATE))('refuses what is %s:', (_, addresses) => {
    it.each(addresses)('%s', (address) => {
      expect(isPublicAddress(address)).toBe(false);
    });
  });

  it('judges every form that embeds an IPv4 address by that address', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(group, group, (high, low) => {
        const [h, l] = [high.toString(16), low.toString(16)];
        const dotted = [high >> 8, high & 255, low >> 8, low & 255].join('.');
        const forms = [`::ffff:${h}:${l}`, `64:ff9b::${h}:${l}`, `2002:${h}:${l}::1`];
        for (const form of forms) expect(isPublicAddress(form)).toBe(isPublicAddress(dotted));
      }),
    );
  });
});
