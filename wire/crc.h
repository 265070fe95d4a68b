#ifndef OZ0_WIRE_CRC_H
#define OZ0_WIRE_CRC_H

#include <stddef.h>
#include <stdint.h>

/*
 * CRC-32 (zlib's) of p continued from crc; 0 begins one.  The log's checksum:
 * every record passes it once in the supervisor and once in oz0-journal.
 */
uint32_t crc_update(uint32_t crc, const void *p, size_t n);

#endif
