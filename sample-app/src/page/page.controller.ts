import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Controller, Get, StreamableFile } from '@nestjs/common';

const PAGE = fileURLToPath(new URL('../../public/index.html', import.meta.url));

/** Serves the page, with the customer's buttons on one side and the deliveries to the receiver on the other. */
@Controller()
export class PageController {
  @Get()
  show(): StreamableFile {
    return new StreamableFile(createReadStream(PAGE), { type: 'text/html; charset=utf-8' });
  }
}
