import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultPullPolicy, imageTag } from './image-reference.ts'

const HEX = 'a'.repeat(64)

test('an image without tag and digest has the tag latest', () => {
  for (const image of ['nginx', 'library/nginx', 'example.com/nginx', 'example.com:5000/team/nginx', 'localhost/nginx', '[::1]:5000/nginx'])
    assert.equal(imageTag(image), 'latest', image)
})

test('the tag is what follows the colon of the last part', () => {
  assert.equal(imageTag('nginx:1.27'), '1.27')
  assert.equal(imageTag('example.com:5000/nginx:stable'), 'stable')
  assert.equal(imageTag('Example/nginx:v1'), 'v1')
  assert.equal(imageTag(`nginx:v1@sha256:${HEX}`), 'v1')
})

test('an image with only a digest has no tag', () => {
  assert.equal(imageTag(`nginx@sha256:${HEX}`), '')
})

test('what is no image name has no tag at all', () => {
  const wrong = [
    '',
    ' ',
    'nginx:',
    'nginx:-x',
    'a//b',
    'Nginx',
    'nginx@sha256:abc',
    `nginx@md5:${HEX}`,
    HEX,
    'x/'.repeat(200),
    '-nginx',
    'a..b',
  ]
  for (const image of [...wrong, 'a b', `nginx:${'t'.repeat(129)}`, '__proto__', 'example.com/', `n@sha256:${HEX.toUpperCase()}`])
    assert.equal(imageTag(image), undefined, image)
})

test('a path longer than 255 characters is no image name, whatever its domain', () => {
  assert.equal(imageTag(`example.com/${'a'.repeat(255)}`), 'latest')
  assert.equal(imageTag(`example.com/${'a'.repeat(256)}`), undefined)
})

test('only the tag latest is pulled always', () => {
  assert.equal(defaultPullPolicy('nginx'), 'Always')
  assert.equal(defaultPullPolicy('nginx:latest'), 'Always')
  assert.equal(defaultPullPolicy('nginx:1'), 'IfNotPresent')
  assert.equal(defaultPullPolicy(`nginx@sha256:${HEX}`), 'IfNotPresent')
  assert.equal(defaultPullPolicy(undefined), 'IfNotPresent')
})
