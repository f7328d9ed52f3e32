/** Random certificates that have issued one another, validly and invalidly, and pools of them, for tests of verification. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import fc from 'fast-check'
import { encodePem } from '../../src/lib/pem.ts'
import * as der from '../../src/lib/x509/der-writer.ts'
import { algorithmOf, signed } from '../../src/lib/x509/signed.ts'
import { EXTENSION, extension, type KeyUsage, keyUsage } from '../../src/lib/x509/write-certificate.ts'
import { type KeyPair, spkiOf } from './x509.ts'

export const NOW = new Date('2026-06-01T12:00:00Z')

/** One certificate of a set; others are referred to by index. */
export type Made = {
  /** The common name; none when empty. */
  readonly subject: string
  readonly key: number
  /** The named issuer, and the signing key. */
  readonly issuer: number
  readonly signer: number
  readonly version: 1 | 3
  /** The CA bit; undefined without basic constraints. */
  readonly ca: boolean | undefined
  readonly pathLength: number | undefined
  readonly usages: readonly KeyUsage[] | undefined
  readonly purposes: readonly string[]
  readonly subjectKeyId: Id
  readonly authorityKeyId: Id
  readonly validity: 'now' | 'past' | 'future'
  readonly dnsNames: readonly string[]
  readonly addresses: readonly (readonly number[])[]
  readonly emails: readonly string[]
  readonly uris: readonly string[]
  readonly constraints: Constraints | undefined
  readonly policies: PolicyParts
  readonly hasUnknownCritical: boolean
  readonly hash: 'usual' | 'sha1'
}
type Id = 'none' | 'right' | 'wrong'
export type Constraints = { readonly permitted: readonly Constraint[]; readonly excluded: readonly Constraint[] }
export type Constraint = { readonly type: 'dns' | 'email' | 'uri' | 'ip'; readonly value: string | readonly number[] }
export type PolicyParts = {
  readonly identifiers: readonly string[]
  readonly requireExplicit?: number | undefined
  readonly inhibitAny?: number | undefined
  readonly inhibitMapping?: number | undefined
  readonly mappings?: readonly (readonly [string, string])[] | undefined
}

const KEYS: readonly KeyPair[] = [
  ...Array.from({ length: 4 }, () => generateKeyPairSync('ec', { namedCurve: 'P-256' })),
  generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  generateKeyPairSync('ed25519'),
  generateKeyPairSync('rsa', { modulusLength: 2048 }),
]
export const KEY_COUNT = KEYS.length

export const plain: Made = {
  subject: 'x',
  key: 0,
  issuer: 0,
  signer: 0,
  version: 3,
  ca: undefined,
  pathLength: undefined,
  usages: undefined,
  purposes: [],
  subjectKeyId: 'none',
  authorityKeyId: 'none',
  validity: 'now',
  dnsNames: [],
  addresses: [],
  emails: [],
  uris: [],
  constraints: undefined,
  policies: { identifiers: [] },
  hasUnknownCritical: false,
  hash: 'usual',
}

/** The certificates of a set, in DER. */
export const make = (set: readonly Made[], now = NOW): Buffer[] => set.map((each, i) => certificate(each, { serial: i + 1, set, now }))

/** The certificates in PEM, for a set with named members: issuers and signers are referred to by name. */
export function makeNamed<Name extends string>(
  named: Readonly<
    Record<Name, Partial<Omit<Made, 'issuer' | 'signer'>> & { readonly issuer: NoInfer<Name>; readonly signer?: NoInfer<Name> }>
  >,
): Record<Name, { readonly cert: string; readonly key: string }> {
  const names = Object.keys(named) as Name[]
  const set = names.map((name, i): Made => {
    const { issuer, signer = issuer, ...more } = named[name]
    return { ...plain, subject: name, key: i % 4, ...more, issuer: names.indexOf(issuer), signer: names.indexOf(signer) }
  })
  const made = make(set, new Date())
  const pairs = names.map((name, i) => [name, { cert: encodePem('CERTIFICATE', made[i]!), key: keyOf(set[i]!.key) }])
  return Object.fromEntries(pairs)
}

const keyOf = (key: number): string => KEYS[key]!.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

type Context = { readonly serial: number; readonly set: readonly Made[]; readonly now: Date }

function certificate(made: Made, { serial, set, now }: Context): Buffer {
  const day = 24 * 3_600_000
  const at = (days: number) => new Date(now.getTime() + days * day)
  const [start, end] = { now: [-10, 10], past: [-10, -1], future: [1, 10] }[made.validity]!
  const signer = KEYS[set[made.signer]!.key]!.privateKey
  const algorithm = made.hash === 'sha1' ? sha1Algorithm(signer) : algorithmOf(signer)
  const extensions = extensionsOf(made, set)
  const body = der.sequence(
    ...(made.version === 3 ? [der.explicit(0, der.integer(Buffer.from([2])))] : []),
    der.integer(Buffer.from([serial])),
    algorithm,
    name(set[made.issuer]!.subject),
    der.sequence(der.time(at(start!)), der.time(at(end!))),
    name(made.subject),
    spkiOf(KEYS[made.key]!.publicKey),
    ...(made.version === 3 && extensions.length > 0 ? [der.explicit(3, der.sequence(...extensions))] : []),
  )
  return made.hash === 'sha1' ? der.sequence(body, algorithm, der.bits(sign('sha1', body, signer))) : signed(body, signer)
}

const sha1Algorithm = ({ asymmetricKeyType }: KeyObject): Buffer =>
  asymmetricKeyType === 'rsa' ? der.sequence(der.oid('1.2.840.113549.1.1.5'), der.NULL) : der.sequence(der.oid('1.2.840.10045.4.1'))

const name = (commonName: string) =>
  commonName === '' ? der.sequence() : der.sequence(der.setOf(der.sequence(der.oid('2.5.4.3'), der.utf8(commonName))))

const idOf = (key: number, id: Id) => Buffer.from(id === 'wrong' ? [255, key] : [1, key])

function extensionsOf(made: Made, set: readonly Made[]): Buffer[] {
  const { ca, pathLength, usages, purposes, policies, constraints } = made
  const names = [
    ...made.dnsNames.map(text => der.implicit(2, Buffer.from(text))),
    ...made.emails.map(text => der.implicit(1, Buffer.from(text))),
    ...made.uris.map(text => der.implicit(6, Buffer.from(text))),
    ...made.addresses.map(bytes => der.implicit(7, Buffer.from(bytes))),
  ]
  const count = (value: number) => der.integer(Buffer.from([value]))
  const counted = (tag: number, value: number | undefined) => (value === undefined ? [] : [der.implicit(tag, Buffer.from([value]))])
  const limits = [...counted(0, policies.requireExplicit), ...counted(1, policies.inhibitMapping)]
  return [
    ...(ca === undefined
      ? []
      : [
          extension(
            EXTENSION.basicConstraints,
            der.sequence(...(ca ? [der.boolean(true)] : []), ...(pathLength === undefined ? [] : [count(pathLength)])),
            { critical: true },
          ),
        ]),
    ...(usages ? [extension(EXTENSION.keyUsage, keyUsage(...usages), { critical: true })] : []),
    ...(purposes.length > 0 ? [extension(EXTENSION.extendedKeyUsage, der.sequence(...purposes.map(der.oid)))] : []),
    ...(made.subjectKeyId === 'none' ? [] : [extension(EXTENSION.subjectKeyId, der.octets(idOf(made.key, made.subjectKeyId)))]),
    ...(made.authorityKeyId === 'none'
      ? []
      : [extension(EXTENSION.authorityKeyId, der.sequence(der.implicit(0, idOf(set[made.issuer]!.key, made.authorityKeyId))))]),
    ...(names.length > 0 ? [extension(EXTENSION.subjectAltName, der.sequence(...names), { critical: made.subject === '' })] : []),
    ...(constraints ? [extension(EXTENSION.nameConstraints, constraintsOf(constraints), { critical: true })] : []),
    ...(policies.identifiers.length > 0
      ? [extension(EXTENSION.certificatePolicies, der.sequence(...policies.identifiers.map(id => der.sequence(der.oid(id)))))]
      : []),
    ...(limits.length > 0 ? [extension(EXTENSION.policyConstraints, der.sequence(...limits), { critical: true })] : []),
    ...(policies.inhibitAny === undefined ? [] : [extension(EXTENSION.inhibitAnyPolicy, count(policies.inhibitAny), { critical: true })]),
    ...(policies.mappings
      ? [extension(EXTENSION.policyMappings, der.sequence(...policies.mappings.map(pair => der.sequence(...pair.map(der.oid)))))]
      : []),
    ...(made.hasUnknownCritical ? [extension('1.2.3.4', der.octets(Buffer.alloc(1)), { critical: true })] : []),
  ]
}

function constraintsOf({ permitted, excluded }: Constraints): Buffer {
  const tags = { email: 1, dns: 2, uri: 6, ip: 7 }
  const subtrees = (list: readonly Constraint[]) =>
    Buffer.concat(
      list.map(({ type, value }) =>
        der.sequence(der.implicit(tags[type], typeof value === 'string' ? Buffer.from(value) : Buffer.from(value))),
      ),
    )
  return der.sequence(
    ...(permitted.length > 0 ? [der.explicit(0, subtrees(permitted))] : []),
    ...(excluded.length > 0 ? [der.explicit(1, subtrees(excluded))] : []),
  )
}

export const PURPOSE = {
  any: '2.5.29.37.0',
  server: '1.3.6.1.5.5.7.3.1',
  client: '1.3.6.1.5.5.7.3.2',
  codeSigning: '1.3.6.1.5.5.7.3.3',
} as const

/** A set with its trusted certificates, the sent ones, and the verified one with its purpose. */
export type Scene = {
  readonly set: readonly Made[]
  readonly roots: readonly number[]
  readonly sent: readonly number[]
  readonly leaf: number
  readonly purpose: 'serverAuth' | 'clientAuth'
}

/** Mostly `usual`, so that most sets have one or two irregularities. */
const mostly = <T>(usual: T, weight: number, ...odd: readonly T[]) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight }, ...odd.map(value => ({ arbitrary: fc.constant(value), weight: 1 })))

const DNS_NAMES = ['a.example.com', 'example.com', '*.example.com', 'a.example.org', 'A.B.Example.COM', 'x']
const DNS_CONSTRAINTS = ['example.com', '.example.com', 'a.example.com', 'example.org', 'COM', '']
const ADDRESSES = [
  [10, 1, 2, 3],
  [192, 168, 0, 1],
  [...Array(15).fill(0), 1],
]
const NETWORKS = [
  [10, 0, 0, 0, 255, 0, 0, 0],
  [10, 1, 2, 0, 255, 255, 255, 0],
  [...Array(16).fill(0), ...Array(16).fill(255)],
]
const POLICIES = ['1.2.3.1', '1.2.3.2', '2.5.29.32.0']

const subset = <T>(values: readonly T[], maxLength = 2) => fc.subarray([...values], { maxLength })
const constraint: fc.Arbitrary<Constraint> = fc.oneof(
  fc.record({ type: fc.constantFrom('dns' as const), value: fc.constantFrom(...DNS_CONSTRAINTS) }),
  fc.record({ type: fc.constantFrom('ip' as const), value: fc.constantFrom(...NETWORKS) }),
  fc.record({ type: fc.constantFrom('email' as const), value: fc.constantFrom('example.com', 'j@example.com', '.example.com') }),
  fc.record({ type: fc.constantFrom('uri' as const), value: fc.constantFrom('example.com', '.example.com', 'a.example.com') }),
)
const someConstraints = fc
  .record({ permitted: fc.array(constraint, { maxLength: 2 }), excluded: fc.array(constraint, { maxLength: 2 }) })
  .filter(({ permitted, excluded }) => permitted.length + excluded.length > 0)
const somePolicies: fc.Arbitrary<PolicyParts> = fc.record({
  identifiers: subset(POLICIES, 3),
  requireExplicit: fc.constantFrom(undefined, 0, 1),
  inhibitAny: fc.constantFrom(undefined, 0, 1),
  inhibitMapping: fc.constantFrom(undefined, undefined, 0),
  mappings: fc.constantFrom(undefined, undefined, [['1.2.3.1', '1.2.3.2'] as const], [['1.2.3.2', '2.5.29.32.0'] as const]),
})

const made = (size: number, place: number): fc.Arbitrary<Made> => {
  // The last certificates are the authorities: most issuers are further on.
  const above = Math.min(place + 1, size - 1)
  return fc
    .record({
      subject: fc.oneof(
        { arbitrary: fc.constant(`s${place}`), weight: 4 },
        { arbitrary: fc.constantFrom('same', 's1', 's2', ''), weight: 2 },
      ),
      key: fc.oneof({ arbitrary: fc.constant(place % KEY_COUNT), weight: 5 }, { arbitrary: fc.nat(KEY_COUNT - 1), weight: 1 }),
      issuer: fc.oneof({ arbitrary: fc.constant(above), weight: 4 }, { arbitrary: fc.nat(size - 1), weight: 2 }),
      forged: mostly(false, 14, true),
      version: mostly<1 | 3>(3, 25, 1),
      ca: place === 0 ? fc.constantFrom(undefined, undefined, false, true) : mostly<boolean | undefined>(true, 12, false, undefined),
      pathLength: mostly<number | undefined>(undefined, 5, 0, 1, 2),
      usages: fc.constantFrom<readonly KeyUsage[] | undefined>(
        undefined,
        undefined,
        ['digitalSignature', 'certSign'],
        ['digitalSignature', 'certSign', 'crlSign'],
        ...(place === 0 ? [['digitalSignature'] as const] : []),
      ),
      wrongUsage: mostly(false, 20, true),
      purposes: mostly<readonly string[]>(
        [],
        5,
        [PURPOSE.server],
        [PURPOSE.client],
        [PURPOSE.any],
        [PURPOSE.client, PURPOSE.server],
        [PURPOSE.codeSigning],
        ['1.2.3.9'],
      ),
      subjectKeyId: mostly<Id>('right', 2, 'none', 'wrong'),
      authorityKeyId: mostly<Id>('right', 2, 'none', 'wrong'),
      validity: mostly<Made['validity']>('now', 20, 'past', 'future'),
      dnsNames: place === 0 ? subset(DNS_NAMES) : mostly<readonly string[]>([], 8, ['a.example.com']),
      addresses: place === 0 ? subset(ADDRESSES, 1) : fc.constant([]),
      emails: place === 0 ? mostly<readonly string[]>([], 5, ['j@example.com'], ['j@A.example.com'], ['broken']) : fc.constant([]),
      uris:
        place === 0
          ? mostly<readonly string[]>([], 5, ['https://a.example.com/x'], ['spiffe://example.com:8080/y'], ['https://10.1.2.3/'], ['urn:x'])
          : fc.constant([]),
      constraints: fc.option(someConstraints, { nil: undefined, freq: 6 }),
      policies: fc.oneof({ arbitrary: fc.constant({ identifiers: [] }), weight: 5 }, { arbitrary: somePolicies, weight: 2 }),
      hasUnknownCritical: mostly(false, 30, true),
      hash: mostly<Made['hash']>('usual', 25, 'sha1'),
    })
    .map(({ forged, wrongUsage, ...rest }) => ({
      ...rest,
      signer: forged ? place : rest.issuer,
      usages: wrongUsage ? (['digitalSignature'] as const) : rest.usages,
    }))
}

/** Any set: several certificates with one subject, wrong key identifiers, cycles, forged signatures. */
export const scene: fc.Arbitrary<Scene> = fc.integer({ min: 2, max: 6 }).chain(size =>
  fc.record({
    set: fc
      .tuple(...Array.from({ length: size }, (_, place) => made(size, place)))
      // Ed25519 signatures have no hash of their own.
      .map(set =>
        set.map(each =>
          KEYS[set[each.signer]!.key]!.privateKey.asymmetricKeyType === 'ed25519' ? { ...each, hash: 'usual' as const } : each,
        ),
      ),
    roots: fc.oneof(
      { arbitrary: fc.constant([size - 1]), weight: 4 },
      { arbitrary: fc.subarray([...Array(size).keys()], { minLength: 1, maxLength: Math.min(size, 3) }), weight: 2 },
    ),
    sent: fc.oneof(
      { arbitrary: fc.shuffledSubarray([...Array(size).keys()].slice(1), { minLength: size - 1 }), weight: 4 },
      { arbitrary: fc.shuffledSubarray([...Array(size).keys()]), weight: 2 },
    ),
    leaf: fc.constant(0),
    purpose: fc.constantFrom('serverAuth' as const, 'clientAuth' as const),
  }),
)
