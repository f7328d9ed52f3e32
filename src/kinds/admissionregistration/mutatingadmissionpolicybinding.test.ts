import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { MutatingAdmissionPolicyBinding } from './mutatingadmissionpolicybinding.ts'

const binding = (more: object = {}) => ({ spec: { policyName: 'p', ...more } })
const withParam = (paramRef: object) => binding({ paramRef })
const rule = (more: object = {}) => ({ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'], ...more })
const matching = (...resourceRules: object[]) => binding({ matchResources: { resourceRules } })

test('a policy is named', () => {
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, binding()), [])
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, {}), ['spec.policyName: Required value'])
  assert.match(
    check(MutatingAdmissionPolicyBinding, { spec: { policyName: 'P' } })[0]!,
    /^spec\.policyName: Invalid value: "P": a lowercase RFC 1123/,
  )
})

test('parameters are named or selected, and their absence is decided', () => {
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, withParam({ name: 'n', parameterNotFoundAction: 'Deny' })), [])
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, withParam({ name: 'n', selector: {}, parameterNotFoundAction: 'Deny' })), [
    'spec.paramRef.name: Forbidden: name and selector are mutually exclusive',
    'spec.paramRef.selector: Forbidden: name and selector are mutually exclusive',
  ])
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, withParam({})), [
    'spec.paramRef: Required value: one of name or selector must be specified',
    'spec.paramRef.parameterNotFoundAction: Required value',
  ])
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, withParam({ name: 'a/b', parameterNotFoundAction: 'Wait' })), [
    'spec.paramRef.name: Invalid value: "a/b": may not contain \'/\'',
    'spec.paramRef.parameterNotFoundAction: Unsupported value: "Wait": supported values: "Deny", "Allow"',
  ])
})

test('what is matched gets its defaults and never is a deletion', () => {
  const { matchResources } = withDefaults(MutatingAdmissionPolicyBinding, matching(rule())).spec
  assert.deepEqual([matchResources.matchPolicy, matchResources.namespaceSelector, matchResources.objectSelector], ['Equivalent', {}, {}])
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, matching(rule({ operations: ['DELETE'] }))), [
    'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
  ])
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, matching(rule({ resourceNames: ['a', 'a', 'b/c'] }))), [
    'spec.matchResources.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
    'spec.matchResources.resourceRules[0].resourceNames[2]: Invalid value: "b/c": may not contain \'/\'',
  ])
  assert.deepEqual(check(MutatingAdmissionPolicyBinding, binding({ matchResources: { matchPolicy: 'Nearly' } })), [
    'spec.matchResources.matchPolicy: Unsupported value: "Nearly": supported values: "Equivalent", "Exact"',
  ])
})

test('its table shows policy and parameters', () => {
  const param = (paramRef: object) => cells(MutatingAdmissionPolicyBinding, withParam(paramRef))['ParamRef']
  assert.deepEqual(cells(MutatingAdmissionPolicyBinding, binding()), { PolicyName: 'p', ParamRef: '<unset>', Age: '<unknown>' })
  assert.deepEqual([param({ name: 'n', namespace: 'a' }), param({ name: 'n' })], ['a/n', '*/n'])
})
