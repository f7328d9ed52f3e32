import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resourcesOf } from '../schema/resource.ts'
import { Catalog } from './catalog.ts'
import { mistakenKind } from './claimed-kind.ts'

test('a body of another kind is told apart from one that no kind fits', async () => {
  const { Secret } = await import('../kinds/core/secret.ts')
  const { DaemonSet } = await import('../kinds/apps/daemonset.ts')
  const catalog = new Catalog(resourcesOf([Secret, DaemonSet], 'k8s.io'))
  const problem = (claimed: [string, string], expected: [string, string] = ['v1', 'Secret']) =>
    mistakenKind({ apiVersion: expected[0], kind: expected[1] }, { apiVersion: claimed[0], kind: claimed[1] }, (version, kind) =>
      catalog.findKind(version, kind),
    )
  const legacy = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
  assert.equal(problem(['v1', 'Secret']), undefined)
  assert.equal(problem(['v1', 'Nope']), `no kind "Nope" is registered for version "v1" ${legacy}`)
  assert.equal(problem(['v9', 'Secret']), `no kind "Secret" is registered for version "v9" ${legacy}`)
  assert.equal(problem(['a/b/c', 'Secret']), 'unexpected GroupVersion string: a/b/c')
  assert.equal(problem(['apps/v1', 'DaemonSet']), 'converting (v1.DaemonSet) to (core.Secret): unknown conversion')
  assert.equal(problem(['v1', 'SecretList']), 'converting (v1.SecretList) to (core.Secret): unknown conversion')
  assert.equal(problem(['v1', 'Secret'], ['apps/v1', 'DaemonSet']), 'converting (v1.Secret) to (apps.DaemonSet): unknown conversion')
  const definition = problem(['v1', 'Secret'], ['apiextensions.k8s.io/v1', 'CustomResourceDefinition'])
  assert.match(definition ?? '', /^no kind "Secret" is registered for version "v1" in scheme "k8s.io\/apiextensions-apiserver/)
})
