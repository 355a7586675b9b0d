// Each line of standard input is a command, each line of standard output its answer ("ok ..." or "error ...").
'use strict';

const readline = require('node:readline');

async function serve(commands) {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split(' ');
    try {
      const answer = await commands[command](...words);
      process.stdout.write(`ok ${answer}`.trimEnd() + '\n');
    } catch (failure) {
      process.stdout.write(`error ${String(failure.stack ?? failure).replaceAll('\n', ' ')}\n`);
    }
  }
}

module.exports = { serve };
