import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Rows, volumeErrors } from '../../../../../test/kits/kinds/pod-shapes.ts'
import { trustBundleNameFaults } from './signer-rules.ts'

const MODE = 'must be a number between 0 and 0777 (octal), both inclusive'
const twice = 'conflicting duplicate paths'
const rows: Rows<object[]> = [
  [
    'each source is of one type',
    [{ secret: { name: 's' }, configMap: { name: 'c' } }],
    ['projected.sources[0]: Forbidden: may not specify more than 1 volume type per source'],
  ],
  [
    'secrets and config maps are named',
    [{ secret: {} }, { configMap: { items: [{ key: '', path: 'a' }] } }],
    [
      'projected.sources[0].secret.name: Required value',
      'projected.sources[1].configMap.name: Required value',
      'projected.sources[1].configMap.items[0].key: Required value',
    ],
  ],
  [
    'no file is made twice',
    [
      { secret: { name: 's', items: [{ key: 'k', path: 'a' }] } },
      { configMap: { name: 'c', items: [{ key: 'k', path: 'a' }] } },
      { downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.name' } }] } },
      { clusterTrustBundle: { name: 'b', path: 'a' } },
      { podCertificate: { signerName: 'a.b/c', keyType: 'ED25519', keyPath: 'a', certificateChainPath: 'a' } },
    ],
    ['c', 'a', 'a', 'a', 'a'].map(shown => `projected: Invalid value: "${shown}": ${twice}`),
  ],
  [
    'files about the pod are checked',
    [{ downwardAPI: { items: [{ path: '..' }] } }],
    [
      'projected.sources[0].downwardAPI.path: Invalid value: "..": must not contain \'..\'',
      'projected.sources[0].downwardAPI.path: Invalid value: "..": must not start with \'..\'',
      'projected.sources[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required',
    ],
  ],
  [
    'tokens last ten minutes at least',
    [{ serviceAccountToken: { expirationSeconds: 599, path: '' } }],
    [
      'projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
      'projected.path: Required value',
    ],
  ],
  [
    'tokens do not last forever, and stay in the volume',
    [{ serviceAccountToken: { expirationSeconds: 2 ** 32 + 1, path: '/t' } }],
    [
      'projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
      'projected.path: Invalid value: "/t": must be a relative path',
    ],
  ],
  [
    'a bundle is named or selected',
    [{ clusterTrustBundle: { path: 'a' } }],
    ['projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified'],
  ],
  [
    'a bundle is not named and selected',
    [{ clusterTrustBundle: { name: 'a', signerName: 'b', path: 'a' } }],
    [
      'projected.sources[0].clusterTrustBundle: Invalid value: {"Name":"a","SignerName":"b","LabelSelector":null,"Optional":null,"Path":"a","User":null}: only one of name and signerName may be used',
    ],
  ],
  [
    'a named bundle needs no selector',
    [{ clusterTrustBundle: { name: 'a.b:c:d', labelSelector: {}, path: '' } }],
    [
      'projected.sources[0].clusterTrustBundle.labelSelector: Invalid value: {}: labelSelector must be unset if name is specified',
      'projected.sources[0].clusterTrustBundle.path: Required value',
    ],
  ],
  [
    'a selected bundle has a signer',
    [{ clusterTrustBundle: { signerName: '', path: 'a' } }],
    [
      'projected.sources[0].clusterTrustBundle.signerName: Required value: must be a valid signer name',
      'projected.sources[0].clusterTrustBundle.signerName: Required value',
    ],
  ],
  [
    'a signer is a domain and a path',
    [{ clusterTrustBundle: { signerName: 'a', path: 'a' } }],
    [
      'projected.sources[0].clusterTrustBundle.signerName: Invalid value: "a": must be a fully qualified domain and path of the form \'example.com/signer-name\'',
    ],
  ],
  [
    'the domain of a signer has two segments',
    [{ clusterTrustBundle: { signerName: 'a/b', path: 'a' } }],
    [
      'projected.sources[0].clusterTrustBundle.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots',
    ],
  ],
  [
    'a certificate has a signer, a type of key, a time and a file',
    [{ podCertificate: { keyType: 'RSA1', maxExpirationSeconds: 1 } }],
    [
      'projected.sources[0].podCertificate.signerName: Required value',
      'projected.sources[0].podCertificate.keyType: Unsupported value: "RSA1": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
      'projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 1: if provided, maxExpirationSeconds must be >= 3600',
      'projected.sources[0].podCertificate: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath',
    ],
  ],
  [
    'certificates of Kubernetes last a day, others three months',
    ['kubernetes.io/a', 'example.com/a'].map(signerName => ({
      podCertificate: {
        signerName: `x.${signerName}`,
        keyType: 'ED25519',
        maxExpirationSeconds: 91 * 86400 + 1,
        keyPath: signerName.replace('/', '-'),
      },
    })),
    [
      'projected.sources[0].podCertificate.maxExpirationSeconds: Invalid value: 7862401: if provided, maxExpirationSeconds must be <= 86400',
      'projected.sources[1].podCertificate.maxExpirationSeconds: Invalid value: 7862401: if provided, maxExpirationSeconds must be <= 7862400',
    ],
  ],
  [
    'annotation keys of a certificate have a domain',
    [{ podCertificate: { signerName: 'a.b/c', keyType: 'ED25519', keyPath: '../a', userAnnotations: { a: 'b' } } }],
    [
      'projected.sources[0].podCertificate.userAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")',
      'projected.sources[0].podCertificate.keyPath: Invalid value: "../a": must not contain \'..\'',
    ],
  ],
]
for (const [name, sources, expected] of rows) test(name, () => assert.deepEqual(volumeErrors({ projected: { sources } }), expected))

test('files of many sources have permissions', () =>
  assert.deepEqual(volumeErrors({ projected: { defaultMode: 0o1000, sources: [] } }), [
    `projected.defaultMode: Invalid value: 512: ${MODE}`,
  ]))

test('a stored token may stay where it is', () =>
  assert.deepEqual(
    volumeErrors({ projected: { sources: [{ serviceAccountToken: { path: '/t' } }] } }, { allowNonLocalTokenPaths: true }),
    [],
  ))

test('names of trust bundles contain their signer', () => {
  assert.deepEqual(trustBundleNameFaults('a.b:c:d', 'a.b/c'), [])
  assert.deepEqual(trustBundleNameFaults('x', 'a.b/c'), ['ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:'])
  assert.deepEqual(trustBundleNameFaults('a:b', ''), ['ClusterTrustBundle without signer name must not have ":" in its name'])
})
