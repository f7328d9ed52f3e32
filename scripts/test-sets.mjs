// Which test files `npm test` leaves to `npm run test:all`, and which need a process of their own, each with the reason. Every other test
// file below src/ and test/ is run by `npm test`, among others in one process.

/** Files that `npm test` leaves out: by what they do that takes long, or that needs a machine with more programs. */
export const LEFT_OUT = {
  'kills servers, again and again': [],
  'packs, installs and builds': [],
  'measures what requests cost': [],
  'repeats what others try once': [],
  'runs other programs': [],
}

/** Files that need a process of their own. */
export const ALONE = {}
