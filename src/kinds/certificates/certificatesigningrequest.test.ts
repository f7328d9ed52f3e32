import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, created, NOW, updated, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { certificate, certificateRequest } from '../../../test/kits/x509.ts'
import { encodePem } from '../../lib/pem.ts'
import { CertificateSigningRequest } from './certificatesigningrequest.ts'

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const base64 = (text: string) => Buffer.from(text).toString('base64')
const REQUEST = base64(encodePem('CERTIFICATE REQUEST', certificateRequest(pair)))
const ISSUED = encodePem('CERTIFICATE', certificate(pair))
const AUTHORITY = encodePem('CERTIFICATE', certificate(pair, { ca: true }))

const asking = (more: object = {}) => ({ spec: { request: REQUEST, signerName: 'example.com/s', usages: ['client auth'], ...more } })
const errors = (more: object) => check(CertificateSigningRequest, asking(more))
const condition = (type: string, status = 'True', more: object = {}) => ({ type, status, ...more })
const having = (...conditions: object[]) => ({ ...asking(), status: { conditions } })
const issuing = (text: string) => ({ ...asking(), status: { certificate: base64(text) } })
const approve = (now: object, before: object = asking()) =>
  checkSubresource(CertificateSigningRequest, 'approval', { ...now }, { ...before })
const issue = (now: object, before: object = asking()) => checkSubresource(CertificateSigningRequest, 'status', { ...now }, { ...before })

test('a request is PKCS #10 in PEM, signed with its own key', () => {
  assert.deepEqual(errors({}), [])
  const label = 'PEM block type must be CERTIFICATE REQUEST'
  assert.deepEqual(errors({ request: 'bm9wZQ==' }), [`spec.request: Invalid value: "bm9wZQ==": ${label}`])
  assert.deepEqual(errors({ request: '' }), [`spec.request: Invalid value: "": ${label}`])
  assert.match(errors({ request: base64(ISSUED) })[0]!, new RegExp(`${label}$`))
  const forged = certificateRequest(pair, { signer: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey })
  assert.match(errors({ request: base64(encodePem('CERTIFICATE REQUEST', forged)) })[0]!, /: x509: ECDSA verification failure$/)
  assert.match(errors({ request: base64(encodePem('CERTIFICATE REQUEST', Buffer.from([0x30]))) })[0]!, /: asn1: syntax error: truncated/)
})

test('usages are supported, not empty and unique', () => {
  assert.deepEqual(errors({ usages: [] }), ['spec.usages: Required value'])
  assert.deepEqual(errors({ usages: ['any', 's/mime', 'any'] }), ['spec.usages[2]: Duplicate value: "any"'])
  assert.match(
    errors({ usages: ['flying'] })[0]!,
    /^spec\.usages\[0\]: Unsupported value: "flying": supported values: "any", "cert sign", /,
  )
})

test('a signer has a full name, and validity has a minimum', () => {
  assert.deepEqual(errors({ signerName: '' }), ['spec.signerName: Required value'])
  assert.match(errors({ signerName: 'short' })[0]!, /must be a fully qualified domain and path of the form 'example.com\/signer-name'$/)
  assert.deepEqual(errors({ signerName: 'kubernetes.io/legacy-unknown' }), [
    'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
  ])
  assert.deepEqual(errors({ expirationSeconds: 599 }), [
    'spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)',
  ])
  assert.deepEqual(errors({ expirationSeconds: 600 }), [])
})

test('any name that fits a path will do', () => {
  assert.deepEqual(check(CertificateSigningRequest, { ...asking(), metadata: { name: 'Any:Name' } }), [])
  assert.equal(check(CertificateSigningRequest, { ...asking(), metadata: { name: 'a/b' } }).length, 1)
})

test('the server sets the requesting user', () => {
  const extra = Object.fromEntries([['__proto__', ['x']]])
  const user = { name: 'jane', uid: 'u1', groups: ['dev'], extra }
  const { spec } = created(CertificateSigningRequest, asking({ username: 'mallory', groups: ['system:masters'] }), contextWith({ user }))
  assert.deepEqual([spec.username, spec.uid, spec.groups], ['jane', 'u1', ['dev']])
  assert.deepEqual(Object.entries(spec.extra), [['__proto__', ['x']]])
  const plain = created(
    CertificateSigningRequest,
    asking({ uid: 'x', extra: { a: ['b'] } }),
    contextWith({ user: { name: 'n', groups: [] } }),
  ).spec
  assert.deepEqual([plain.uid, plain.groups, plain.extra], [undefined, undefined, undefined])
})

test('a plain update changes neither spec nor status', () => {
  const changed = updated(CertificateSigningRequest, { ...asking({ signerName: 'a.b/c' }), status: {} }, having(condition('Approved')))
  assert.equal(changed.spec.signerName, 'example.com/s')
  assert.equal(changed.status.conditions.length, 1)
})

test('a request is approved or denied once and finally', () => {
  assert.deepEqual(approve(having(condition('Approved'))), [])
  assert.deepEqual(approve(having(condition('Denied'))), [])
  assert.deepEqual(approve(having(), having(condition('Approved'))), [
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ])
  assert.deepEqual(approve(having(condition('Approved'), condition('Denied')), having(condition('Approved'))), [
    'status.conditions: Invalid value: "{conditions[{\\"type\\": \\"Approved\\"}], conditions[{\\"type\\": \\"Denied\\"}]}": must specify at most one of: `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`',
  ])
})

test('approvers do not issue', () => {
  const update = CertificateSigningRequest.def.subresources!.updates!['approval']!
  const stored = withDefaults(CertificateSigningRequest, asking())
  assert.equal(update.merge!(withDefaults(CertificateSigningRequest, issuing(ISSUED)), stored).status.certificate, undefined)
})

test('what was decided is true, other conditions may be anything', () => {
  assert.deepEqual(approve(having(condition('Approved', 'False'))), [
    'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
  ])
  assert.deepEqual(approve(having(condition('Own', 'Unknown'))), [])
  assert.deepEqual(approve(having(condition('', 'Perhaps'), condition('Own', ''), condition('Own', 'True'))), [
    'status.conditions[0].type: Required value',
    'status.conditions[0].status: Unsupported value: "Perhaps": supported values: "False", "True", "Unknown"',
    'status.conditions[1].status: Required value',
    'status.conditions[2].type: Duplicate value: "Own"',
  ])
})

test('signers do not decide', () => {
  assert.deepEqual(issue(having(condition('Approved'))), [
    'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
  ])
  assert.deepEqual(issue(having(condition('Failed')), having(condition('Approved'))), [
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  ])
  assert.deepEqual(issue(having(condition('Approved', 'False'), condition('Failed')), having(condition('Approved'))), [])
  assert.deepEqual(issue(having(), having(condition('Failed'))), [
    'status.conditions: Forbidden: updates may not remove a condition of type "Failed"',
  ])
})

test('signers issue certificates in clean PEM, once', () => {
  const wrong = 'status.certificate: Invalid value: "<certificate data>": '
  assert.deepEqual(issue(issuing(`before\n${ISSUED}${AUTHORITY}after`)), [])
  assert.deepEqual(issue(issuing('nope')), [`${wrong}must contain at least one CERTIFICATE PEM block`])
  assert.deepEqual(issue(issuing(Buffer.from(REQUEST, 'base64').toString())), [
    `${wrong}only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"`,
  ])
  assert.deepEqual(issue(issuing(ISSUED.replace('-----\n', '-----\na: b\n\n'))), [`${wrong}no PEM block headers are permitted`])
  assert.deepEqual(issue(issuing(encodePem('CERTIFICATE', Buffer.from('x')))), [`${wrong}x509: malformed certificate`])
  assert.deepEqual(issue(issuing(encodePem('CERTIFICATE', Buffer.alloc(0)))), [
    `${wrong}found CERTIFICATE PEM block containing 0 certificates`,
  ])
  const again = 'status.certificate: Forbidden: updates may not modify existing certificate content'
  assert.deepEqual(issue(issuing(AUTHORITY), issuing(ISSUED)), [again])
  assert.deepEqual(issue(asking(), issuing(ISSUED)), [again])
  assert.deepEqual(issue(issuing(ISSUED), issuing(ISSUED)), [])
})

test('times that are left out are filled', () => {
  const { status, updates } = CertificateSigningRequest.def.subresources!
  const through = (update: typeof status, now: object, before: object) => {
    const object = withDefaults(CertificateSigningRequest, { ...now })
    update!.prepareForUpdate!(object, withDefaults(CertificateSigningRequest, { ...before }), contextWith())
    return object.status.conditions
  }
  const [now, then] = ['2026-07-01T12:00:00Z', '2026-01-01T00:00:00Z']
  assert.equal(new Date(now).getTime(), NOW.getTime())
  assert.deepEqual(through(updates!['approval'], having(condition('Approved')), asking()), [
    condition('Approved', 'True', { lastUpdateTime: now, lastTransitionTime: now }),
  ])
  assert.deepEqual(
    through(updates!['approval'], having(condition('Own')), having(condition('Own', 'True', { lastTransitionTime: then }))),
    [condition('Own', 'True', { lastUpdateTime: now, lastTransitionTime: then })],
  )
  const decided = condition('Approved', 'True', { reason: 'r', lastUpdateTime: then, lastTransitionTime: then })
  assert.deepEqual(through(status, having(condition('Approved')), having(decided)), [decided])
})

test('the table shows signer, requestor and condition', () => {
  const row = (draft: object) => cells(CertificateSigningRequest, { ...draft })
  assert.deepEqual(row(asking({ username: 'jane', expirationSeconds: 3600 })), {
    Age: '<unknown>',
    SignerName: 'example.com/s',
    Requestor: 'jane',
    RequestedDuration: '60m',
    Condition: 'Pending',
  })
  const state = (status: object) => row({ ...asking(), status })['Condition']
  assert.equal(state({ conditions: [condition('Approved')], certificate: base64(ISSUED) }), 'Approved,Issued')
  assert.equal(state({ conditions: [condition('Approved'), condition('Failed')] }), 'Approved,Failed')
  assert.equal(state({ conditions: [condition('Approved'), condition('Denied')] }), 'Denied')
  assert.equal(row(asking())['RequestedDuration'], '<none>')
})
